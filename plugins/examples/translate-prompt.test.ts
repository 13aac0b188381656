// Tests of the example, with the plugin test harness: a function takes the place of the service.
import { expect, test } from "bun:test";
import { ServiceCallError } from "gatehouse/sdk";
import { testPlugin } from "gatehouse/sdk/testing";
import translatePrompt from "./translate-prompt.ts";

const SETTINGS = { service: "translation", model: "small" };

const chat = (...contents: readonly string[]) => ({
  model: "m",
  messages: contents.map((content, index) => ({ role: index % 2 === 0 ? "user" : "assistant", content })),
});

/** A service that responds with this text. */
function translation(content: string, status = 200) {
  const asked: unknown[] = [];
  const services = {
    translation: (request: { readonly body: unknown }) => {
      asked.push(request.body);
      return { status, body: { choices: [{ message: { content } }] } };
    },
  };
  return { services, asked };
}

test("replaces the last message of the user, and nothing else", async () => {
  const { services, asked } = translation('{"language": "German", "text": "What is the weather like?"}');
  const plugin = testPlugin(translatePrompt, SETTINGS);
  const { body } = await plugin.preRequest({ body: chat("Hallo!", "Hi.", "Wie ist das Wetter?"), services });
  expect(JSON.parse(body ?? "")).toEqual(chat("Hallo!", "Hi.", "What is the weather like?"));
  expect(asked).toMatchObject([
    { model: "small", messages: [{ role: "system" }, { content: "Wie ist das Wetter?" }] },
  ]);
  expect(plugin.details).toEqual(["translated from German"]);
});

test("works in other formats", async () => {
  const { services } = translation('{"language": "French", "text": "Good evening"}');
  const request = {
    model: "m",
    max_tokens: 9,
    messages: [{ role: "user", content: [{ type: "text", text: "Bonsoir" }] }],
  };
  const { body } = await testPlugin(translatePrompt, SETTINGS).preRequest({
    path: "/v1/messages",
    body: request,
    services,
  });
  expect(JSON.parse(body ?? "").messages).toEqual([
    { role: "user", content: [{ type: "text", text: "Good evening" }] },
  ]);
});

test("a message in the language already is sent as it is", async () => {
  const { services } = translation('{"language": "English", "text": "Reworded."}');
  const body = '{ "model":"m", "messages": [{"role":"user","content":"Caf\\u00e9?"}] }';
  const result = await testPlugin(translatePrompt, SETTINGS).preRequest({ body, services });
  expect(result.body).toBe(body);
});

test("bodies without a message of the user, and long ones, are not translated", async () => {
  const { services, asked } = translation("{}");
  const plugin = testPlugin(translatePrompt, SETTINGS);
  for (const body of [
    "no JSON",
    '{"input":[]}',
    chat("Hallo!", "Guten Tag."),
    chat("x".repeat(8001)),
    undefined,
  ])
    await plugin.preRequest({ body, services });
  expect([asked, plugin.counted]).toEqual([[], {}]);
});

test.each([
  ["returns an error", translation("", 500).services],
  ["returns something else", translation("What a nice day!").services],
  [
    "does not respond in time",
    {
      translation: () => {
        throw new ServiceCallError("timeout", "no response within 4000 ms");
      },
    },
  ],
])("a service that %s: the message is sent as it is, or the request is rejected", async (_, services) => {
  const body = chat("Hallo!");
  const plugin = testPlugin(translatePrompt, SETTINGS);
  const sent = await plugin.preRequest({ body, services });
  expect([JSON.parse(sent.body ?? ""), sent.response, plugin.counted]).toEqual([body, null, { failed: 1 }]);
  const rejecting = testPlugin(translatePrompt, { ...SETTINGS, on_failure: "reject" });
  expect((await rejecting.preRequest({ body, services })).response).toMatchObject({ status: 503 });
});
