// A response whose status is 200 and whose body says that it failed.
import { expect, test } from "bun:test";
import { GatehouseError } from "../../base/errors.ts";
import { decodeResponse } from "./decode-response.ts";

test("a failed response is an error with the provider's message", () => {
  const body = {
    object: "response",
    status: "failed",
    output: [],
    error: { code: "server_error", message: "Out of order." },
  };
  const decode = () => decodeResponse(body, { createdAt: 1, targetTag: "t" });
  expect(decode).toThrow(GatehouseError);
  expect(decode).toThrow("The provider could not create the response. Out of order.");
});
