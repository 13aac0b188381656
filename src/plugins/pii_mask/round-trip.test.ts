// Masking and restoring: the identity for every text, whole and streamed, in each format, and the numbers of placeholders.
import { expect, test } from "bun:test";
import fc from "fast-check";
import { runs } from "../../../test/support/long-form.ts";
import { roundTrip } from "../../../test/support/pii-roundtrip.ts";
import { withoutThreads } from "../../../test/support/without-threads.ts";
import { FORMAT_NAMES } from "../../formats/format-names.ts";
import { testPlugin } from "../../sdk/testing.ts";
import { piiMask } from "./plugin.ts";
import { anyCharacter } from "../../../test/support/characters.ts";

const VALUES = [
  "bob@example.com",
  "+44 20 7946 0958",
  "4111 1111 1111 1111",
  "GB82 WEST 1234 5698 7654 32",
  "078-05-1120",
  "10.1.2.3",
  "4111\u00a01111\u200b\u202f1111 １１１１",
  "bob\u200b@exam\u00adple.com",
  "-----BEGIN PRIVATE KEY-----\nMIIE\n-----END PRIVATE KEY-----",
];
const part = fc.oneof(
  fc.constantFrom(...VALUES),
  fc.constantFrom(
    "<EMAIL_1>",
    "<PHONE_2>",
    "<EMAIL_",
    "1>",
    "<",
    "\\u003cEMAIL_1\\u003e",
    "\\",
    '"',
    'B"1\\2',
    "\n",
    " ",
    "\ud83d",
    "\ude00",
    "漢",
  ),
  fc.string({ unit: anyCharacter, maxLength: 5 }),
);
const trip = fc.record({
  format: fc.constantFrom(...FORMAT_NAMES),
  isStream: fc.boolean(),
  key: fc.constantFrom(null, "k"),
  text: fc.array(part, { maxLength: 10 }).map((parts) => parts.join("")),
  pieceSize: fc.integer({ min: 1, max: 20 }),
  chunkSize: fc.integer({ min: 1, max: 500 }),
});

test(
  "restoring what was masked is the identity, whole and streamed, in each format",
  async () => {
    await fc.assert(
      fc.asyncProperty(trip, async (given) => {
        const { sent, content, argument } = await roundTrip(given);
        expect(content).toBe(given.text);
        expect(argument).toBe(given.text);
        // Next to other characters, an address may be none.
        expect(sent).not.toContain(` ${VALUES[0]} `);
      }),
      { numRuns: runs({ short: 100, long: 5000 }) },
    );
  },
  10 * 3600 * 1000,
);

const user = (content: unknown) => ({ role: "user", content });
const mask = async (messages: unknown[], settings = {}, fields = {}) => {
  const plugin = testPlugin(piiMask, settings);
  const { body, response } = await plugin.preRequest({ body: { messages, ...fields } });
  return { plugin, response, sent: JSON.parse(body ?? "null") as { messages: { content: unknown }[] }, body };
};

test("placeholders are numbered by type and first appearance, and equal values have one", async () => {
  const { sent, plugin } = await mask([user("a@b.cc and c@d.ee and 10.0.0.1, again a@b.cc")]);
  expect(sent.messages[0]?.content).toBe("<EMAIL_1> and <EMAIL_2> and <IP_1>, again <EMAIL_1>");
  expect(plugin.counted).toEqual({ "masked email": 3, "masked ip": 1 });
  expect(plugin.details).toEqual(["mask: email=3, ip=1"]);
});

test("a longer conversation has the same numbers", async () => {
  const turns = [user("a@b.cc"), { role: "assistant", content: "mail to a@b.cc" }, user("now c@d.ee")];
  const later = [...turns, user("and 1@2.dd")];
  const fields = { system: "x@y.zz", tools: [{ name: "t", description: "t@u.vv" }] };
  const [first, second] = [await mask(turns, {}, fields), await mask(later, {}, fields)];
  expect(second.sent).toEqual({ ...first.sent, messages: [...first.sent.messages, user("and <EMAIL_5>")] });
});

test("a literal placeholder in the input reserves its number", async () => {
  const { sent } = await mask([user("a@b.cc"), user("what is <EMAIL_1>, <EMAIL_3>?"), user("c@d.ee")]);
  expect(sent.messages.map(({ content }) => content)).toEqual([
    "<EMAIL_2>",
    "what is <EMAIL_1>, <EMAIL_3>?",
    "<EMAIL_4>",
  ]);
});

test("placeholders in signed reasoning are those of an earlier turn", async () => {
  const thinking = { type: "thinking", thinking: "about <EMAIL_1>", signature: "c2ln" };
  const { sent } = await mask([user("a@b.cc"), { role: "assistant", content: [thinking] }]);
  expect(sent.messages).toEqual([user("<EMAIL_1>"), { role: "assistant", content: [thinking] }]);
});

test("the arguments of a tool are searched as they are read", async () => {
  const call = {
    id: "c",
    type: "function",
    function: { name: "f", arguments: '{"to":"a\\u0040b.cc","a@b.cc":1}' },
  };
  const { body, plugin } = await mask([{ role: "assistant", tool_calls: [call] }]);
  expect(body).toContain(JSON.stringify('{"to":"<EMAIL_1>","<EMAIL_1>":1}').slice(1, -1));
  const restored = await plugin.responseText(['{"to":"\\u003cEMA', 'IL_1\\u003E","q":"\\\\u003cEMAIL_1>"}'], {
    kind: "tool_arguments",
    isJson: true,
  });
  expect(restored.text).toBe('{"to":"a@b.cc","q":"\\\\u003cEMAIL_1>"}');
});

test("the name of a field identifies a secret in the arguments of a tool", async () => {
  const secret = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY";
  const call = (name: string) => ({
    id: "c",
    type: "function",
    function: { name: "f", arguments: JSON.stringify({ region: "eu", [name]: secret }) },
  });
  const { body } = await mask([{ role: "assistant", tool_calls: [call("SecretAccessKey"), call("title")] }]);
  expect(body).toContain(JSON.stringify('"SecretAccessKey":"<SECRET_1>"').slice(1, -1));
  expect(body).toContain(JSON.stringify(`"title":"${secret}"`).slice(1, -1));
});

test("a large text is restored like a small one, and rejected if no thread is available", async () => {
  const request = { body: { messages: [user("a@b.cc")] } };
  const large = "to <EMAIL_1>\n".repeat(30_000);
  const plugin = testPlugin(piiMask);
  await plugin.preRequest(request);
  const { text } = await plugin.responseText([large]);
  expect(text === "to a@b.cc\n".repeat(30_000)).toBe(true);
  const overloaded = testPlugin(withoutThreads(piiMask));
  await overloaded.preRequest(request);
  const { rejection } = await overloaded.responseText([large]);
  expect(rejection).toMatchObject({ status: 503, code: "overloaded" });
});

test("a request is blocked or tagged instead, without its values", async () => {
  const blocked = await mask([user("a@b.cc")], { action: "block", status_code: 422 });
  expect(blocked.response).toEqual({
    status: 422,
    body: { error: "The request contains personal data.", code: "pii_detected" },
  });
  const plugin = testPlugin(piiMask, { action: "tag" });
  const tagged = await plugin.preRequest({ body: { messages: [user("a@b.cc 10.0.0.1")] } });
  expect(tagged.responseHeaders).toEqual({ "X-GW-PII": "email=1, ip=1" });
  expect(tagged.body).toContain("a@b.cc");
});

test("a conversation that the provider keeps is rejected, however its field is written", async () => {
  for (const body of [
    '{"input":"Hi","previous\\u005fresponse_id":"resp_1"}',
    '{"input":"Hi","Conversation":{"id":"conv_1"}}',
    '{"input":"Hi","conversation":"conv_1","conversation":null}',
  ]) {
    const plugin = testPlugin(piiMask);
    const { response } = await plugin.preRequest({ body });
    expect(response).toMatchObject({ status: 400, body: { code: "conversation_not_maskable" } });
    const none = await testPlugin(piiMask, { types: [] }).preRequest({ body });
    expect(none.response).toBeNull();
  }
});

test("only the selected types and roles are searched", async () => {
  const messages = [{ role: "system", content: "a@b.cc" }, user("a@b.cc 10.0.0.1")];
  const { sent } = await mask(messages, { types: ["ip"], roles: ["user"] });
  expect(sent.messages.map(({ content }) => content)).toEqual(["a@b.cc", "a@b.cc <IP_1>"]);
});

test("settings that cannot work are rejected", () => {
  expect(() => testPlugin(piiMask, { custom: [{ name: "a", pattern: "(?=x)" }] })).toThrow("look-around");
  expect(() => testPlugin(piiMask, { custom: [{ name: "email", pattern: "x" }] })).toThrow("built-in type");
  expect(() => testPlugin(piiMask, { types: ["ip", "ip"] })).toThrow("twice");
});
