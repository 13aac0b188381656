// The example's own test, with the harness that every plugin author has.
import { expect, test } from "bun:test";
import { testPlugin } from "gatehouse/sdk/testing";
import redactEmail from "./redact-email.ts";

const chat = (content: unknown) => ({
  model: "m",
  messages: [{ role: "user", content }],
  user: "kept@example.com",
});

test("addresses in messages are replaced, and nothing else", async () => {
  const plugin = testPlugin(redactEmail);
  const { body, response } = await plugin.preRequest({
    body: chat("Write to ann.lee+x@mail.example.org, please."),
  });
  expect(JSON.parse(body ?? "")).toEqual(chat("Write to [e-mail], please."));
  expect(response).toBeNull();
});

test("parts of a message are looked at too", async () => {
  const plugin = testPlugin(redactEmail, { replacement: "***" });
  const { body } = await plugin.preRequest({ body: chat([{ type: "text", text: "a@b.co" }]) });
  expect(JSON.parse(body ?? "")).toEqual(chat([{ type: "text", text: "***" }]));
});

test("a body without an address goes on as it came", async () => {
  const text = '{"messages": [ {"role":"user","content":"none here"} ], "n": 1.0}';
  expect((await testPlugin(redactEmail).preRequest({ body: text })).body).toBe(text);
});

test("settings that it does not know are refused", () => {
  expect(() => testPlugin(redactEmail, { replacment: "x" })).toThrow();
});
