// Services of the gateway in the test harness: calls of a plugin, and the response that it holds.
import { expect, test } from "bun:test";
import { definePlugin, ServiceCallError, z } from "./index.ts";
import { testPlugin } from "./testing.ts";

const judged = definePlugin({
  name: "judged",
  description: "",
  stages: ["pre_request"],
  settings: z.strictObject({}),
  create: () => ({
    pre_request(context) {
      const call = context.callService("judge", { body: { text: context.bodyText } }, { timeoutMs: 50 });
      const decision = call.then(({ status, json }) =>
        status === 200 && json === "bad" ? { status: 403, body: "no" } : null,
      );
      context.holdResponse(
        decision.catch((error: unknown) => ({
          status: 500,
          body: error instanceof ServiceCallError ? error.reason : "other",
        })),
      );
    },
  }),
});

test("a service gets the call of the plugin, and its response decides", async () => {
  const calls: unknown[] = [];
  const answer = async (body: unknown) => {
    const judge = (...call: unknown[]) => {
      calls.push(call);
      return { body };
    };
    return (await testPlugin(judged).preRequest({ body: "hi", services: { judge } })).response;
  };
  expect(await answer('"bad"')).toEqual({ status: 403, body: "no" });
  expect(await answer('"good"')).toBeNull();
  expect(await answer({ no: "word" })).toBeNull();
  expect(calls[0]).toEqual([{ body: { text: "hi" } }, { timeoutMs: 50 }]);
});

test("an unknown service, and a service that does not respond, reject the call", async () => {
  expect((await testPlugin(judged).preRequest()).response?.body).toBe("unknown_service");
  const judge = () => {
    throw new ServiceCallError("timeout", "too slow");
  };
  expect((await testPlugin(judged).preRequest({ services: { judge } })).response?.body).toBe("timeout");
});
