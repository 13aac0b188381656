// Errors of the client of the Admin API that no real gateway causes quickly.
import { expect, onTestFinished, spyOn, test } from "bun:test";
import { z } from "zod";
import { adminClient, GatewayUnavailable } from "./admin-client.ts";

test("a gateway that does not respond in time is not reported as unreachable, and a change may have been made", async () => {
  const timeout = spyOn(AbortSignal, "timeout");
  timeout.mockImplementation(() => AbortSignal.abort(new DOMException("timed out", "TimeoutError")));
  onTestFinished(() => timeout.mockRestore());
  const client = await adminClient({ url: "http://127.0.0.1:9", token: "x" });
  const failed = async (work: Promise<unknown>) => {
    const error = await work.catch((each: unknown) => each);
    expect(error).toBeInstanceOf(GatewayUnavailable);
    return String(error);
  };
  expect(await failed(client.get("/gateways", z.unknown()))).toBe(
    "GatewayUnavailable: the gateway at http://127.0.0.1:9 did not respond within 30 seconds; retry",
  );
  // The server gives up after 30 seconds; its response must arrive before the client gives up.
  expect(await failed(client.post("/apply", {}, z.unknown()))).toBe(
    "GatewayUnavailable: the gateway at http://127.0.0.1:9 did not respond within 45 seconds; the change may have been made, see gatehouse revisions",
  );
  expect(timeout.mock.calls).toEqual([[30_000], [45_000]]);
});
