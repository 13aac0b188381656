// What a new credential contains.
import { expect, test } from "bun:test";
import { emptyCredential } from "./credential.ts";

test("the key is in the header that the API of the format reads", () => {
  expect(emptyCredential("openai")).toEqual({ header_name: "Authorization", header_value: "Bearer " });
  expect(emptyCredential("anthropic")).toEqual({ header_name: "x-api-key", header_value: "" });
  expect(emptyCredential("gemini")).toEqual({ header_name: "x-goog-api-key", header_value: "" });
  expect(emptyCredential(undefined)).toEqual({ header_name: "Authorization", header_value: "Bearer " });
});
