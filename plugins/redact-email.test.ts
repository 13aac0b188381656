// Tests of the example plugin, written with the plugin test harness.
import { expect, test } from "bun:test";
import { testPlugin } from "gatehouse/sdk/testing";
import redactEmail from "./redact-email.ts";

const chat = (content: unknown) => ({
  model: "m",
  messages: [{ role: "user", content }],
  user: "kept@example.com",
});

test("replaces addresses in messages and nothing else", async () => {
  const plugin = testPlugin(redactEmail);
  const { body, response } = await plugin.preRequest({
    body: chat("Write to ann.lee+x@mail.example.org, please."),
  });
  expect(JSON.parse(body ?? "")).toEqual(chat("Write to [e-mail], please."));
  expect(response).toBeNull();
});

test("replaces addresses in the parts of a message", async () => {
  const plugin = testPlugin(redactEmail, { replacement: "***" });
  const { body } = await plugin.preRequest({ body: chat([{ type: "text", text: "a@b.co" }]) });
  expect(JSON.parse(body ?? "")).toEqual(chat([{ type: "text", text: "***" }]));
});

test("forwards a body without an address unchanged", async () => {
  const text = '{"messages": [ {"role":"user","content":"none here"} ], "n": 1.0}';
  expect((await testPlugin(redactEmail).preRequest({ body: text })).body).toBe(text);
});

test("rejects unknown settings", () => {
  expect(() => testPlugin(redactEmail, { replacment: "x" })).toThrow();
});
