// Probabilities of tokens beside texts that plugins replace: they must not show what was replaced, in any format.
import { beforeEach, describe, expect, test } from "bun:test";
import type { Fields } from "../support/plugin-fixtures.ts";
import { seedRoute, targetAt } from "../support/proxy-fixtures.ts";
import { useFakeProvider, useGatehouse } from "../support/use-gatehouse.ts";

const [gatehouse, provider] = await Promise.all([useGatehouse(), useFakeProvider()]);
beforeEach(() => provider.reset());

const sanitation = {
  name: "code_sanitation",
  stage: "pre_request",
  settings: { languages: [{ language: "html" }], content_to_check: ["response"], action: "sanitize" },
};
const masking = { name: "pii_mask", stage: "pre_request", settings: {} };
const CODE = ["<scr", "ipt>al", "ert(77", "31)</scr", "ipt>"];
const HARMLESS = ["All ", "is ", "well"];

const token = (text: string) => ({
  token: text,
  logprob: -1,
  bytes: [...Buffer.from(text)],
  top_logprobs: [{ token: text, logprob: -1, bytes: null }],
});
const oldTokens = (texts: readonly string[]) => ({
  tokens: texts,
  token_logprobs: texts.map(() => -1),
  text_offset: texts.map(() => 0),
});
const geminiTokens = (texts: readonly string[]) => ({
  topCandidates: texts.map((each) => ({ candidates: [{ token: each, logProbability: -1 }] })),
  chosenCandidates: texts.map((each) => ({ token: each, logProbability: -1 })),
});
const joined = (texts: readonly string[]) => texts.join("");
const sse = (events: readonly Fields[]) =>
  events
    .map(
      (event) =>
        `${typeof event["type"] === "string" ? `event: ${event["type"]}\n` : ""}data: ${JSON.stringify(event)}\n\n`,
    )
    .join("");

interface Format {
  readonly target: Fields;
  readonly request: Fields;
  readonly whole: (texts: readonly string[]) => Fields;
  readonly events: (texts: readonly string[]) => string;
}

const MESSAGES = [{ role: "user", content: "Hello" }];
const FORMATS: Readonly<Record<string, Format>> = {
  chat: {
    target: { provider: "openai", path: "/v1/chat/completions" },
    request: { model: "m", messages: MESSAGES, logprobs: true },
    whole: (texts) => ({
      choices: [
        {
          index: 0,
          message: { role: "assistant", content: joined(texts) },
          logprobs: { content: texts.map(token), refusal: null },
          finish_reason: "stop",
        },
      ],
    }),
    events: (texts) =>
      sse([
        ...texts.map((content) => ({
          choices: [
            { index: 0, delta: { content }, logprobs: { content: [token(content)] }, finish_reason: null },
          ],
        })),
        { choices: [{ index: 0, delta: {}, finish_reason: "stop" }] },
      ]) + "data: [DONE]\n\n",
  },
  completions: {
    target: { provider: "openai", path: "/v1/completions" },
    request: { model: "m", prompt: "Hello", logprobs: 1 },
    whole: (texts) => ({
      choices: [{ index: 0, text: joined(texts), logprobs: oldTokens(texts), finish_reason: "stop" }],
    }),
    events: (texts) =>
      sse([
        ...texts.map((text) => ({
          choices: [{ index: 0, text, logprobs: oldTokens([text]), finish_reason: null }],
        })),
        { choices: [{ index: 0, text: "", logprobs: null, finish_reason: "stop" }] },
      ]) + "data: [DONE]\n\n",
  },
  responses: {
    target: { provider: "openai", path: "/v1/responses" },
    request: { model: "m", input: "Hello", include: ["message.output_text.logprobs"] },
    whole: (texts) => responseOf(texts),
    events: (texts) => {
      const place = { output_index: 0, content_index: 0, item_id: "i" };
      const [item] = responseOf(texts).output;
      const [part] = item?.content ?? [];
      return sse(
        [
          { type: "response.output_item.added", output_index: 0, item: { ...item, content: [] } },
          ...texts.map((delta) => ({
            type: "response.output_text.delta",
            ...place,
            delta,
            logprobs: [token(delta)],
          })),
          { type: "response.output_text.done", ...place, text: joined(texts), logprobs: texts.map(token) },
          { type: "response.content_part.done", ...place, part },
          { type: "response.output_item.done", output_index: 0, item },
          { type: "response.completed", response: responseOf(texts) },
        ].map((event, at) => ({ ...event, sequence_number: at })),
      );
    },
  },
  gemini: {
    target: { provider: "gemini", path: "/v1beta/models/m:generateContent" },
    request: { contents: [{ role: "user", parts: [{ text: "Hello" }] }] },
    whole: (texts) => ({
      candidates: [
        {
          index: 0,
          content: { role: "model", parts: [{ text: joined(texts) }] },
          logprobsResult: geminiTokens(texts),
          finishReason: "STOP",
        },
      ],
    }),
    events: (texts) =>
      sse(
        texts.map((text, at) => ({
          candidates: [
            {
              index: 0,
              content: { role: "model", parts: [{ text }] },
              logprobsResult: geminiTokens([text]),
              ...(at === texts.length - 1 && { finishReason: "STOP" }),
            },
          ],
        })),
      ),
  },
};

function responseOf(texts: readonly string[]) {
  const part = { type: "output_text", text: joined(texts), annotations: [], logprobs: texts.map(token) };
  return {
    object: "response",
    status: "completed",
    output: [{ type: "message", id: "i", role: "assistant", content: [part] }],
  };
}

/** Resolves to what the client gets of a response of the provider. */
async function received(
  format: Format,
  plugin: Fields,
  reply: { readonly body: string; readonly isStream: boolean },
  request: Fields = {},
): Promise<string> {
  const { path } = await seedRoute(gatehouse, {
    gateway: { required_plugins: [plugin] },
    upstream: { targets: [targetAt(provider, format.target)] },
  });
  const type = reply.isStream ? "text/event-stream" : "application/json";
  provider.behave({ headers: [["Content-Type", type]], body: reply.body });
  const response = await fetch(gatehouse.proxyUrl + path, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ ...format.request, ...(reply.isStream && { stream: true }), ...request }),
  });
  expect(response.status).toBe(200);
  return response.text();
}

describe.each(Object.entries(FORMATS))("%s", (_, format) => {
  const wholeOf = (texts: readonly string[]) => ({
    body: JSON.stringify(format.whole(texts)),
    isStream: false,
  });
  const streamOf = (texts: readonly string[]) => ({ body: format.events(texts), isStream: true });

  test.each([
    ["whole", wholeOf],
    ["streamed", streamOf],
  ])("tokens of a replaced text are removed: %s", async (_name, replyOf) => {
    const sent = await received(format, sanitation, replyOf(CODE));
    expect(sent).toContain("XXXXXXXX");
    for (const piece of ["scr", "ipt>"]) expect(sent).not.toContain(piece);
    for (const bytes of CODE.slice(0, 2)) expect(sent).not.toContain(JSON.stringify([...Buffer.from(bytes)]));
  });

  test.each([
    ["whole", wholeOf],
    ["streamed", streamOf],
  ])("tokens of a text that stays are left: %s", async (_name, replyOf) => {
    const reply = replyOf(HARMLESS);
    expect(await received(format, sanitation, reply)).toBe(reply.body);
  });

  test("tokens of a restored placeholder are removed", async () => {
    const address = "zq7391x@example.com";
    const messages = JSON.parse(
      JSON.stringify(format.request).replaceAll("Hello", `Hello ${address}`),
    ) as Fields;
    const texts = ["To ", "<EM", "AIL_", "1", "> now"];
    for (const reply of [wholeOf(texts), streamOf(texts)]) {
      const sent = await received(format, masking, reply, messages);
      expect(sent).toContain(address);
      expect(sent).not.toContain('"AIL_');
    }
  });
});

test("tokens without the text beside them are removed from a stream, because it may follow", async () => {
  const { chat } = FORMATS;
  const chunk = (content: string, tokens: readonly string[]) => ({
    choices: [{ index: 0, delta: { content }, logprobs: { content: tokens.map(token) } }],
  });
  const events = [
    chunk("", CODE),
    chunk(joined(CODE), []),
    { choices: [{ index: 0, delta: {}, finish_reason: "stop" }] },
  ];
  if (chat === undefined) throw new Error("no format");
  const sent = await received(chat, sanitation, { body: sse(events), isStream: true });
  expect(sent).toContain("XXXXXXXX");
  expect(sent).not.toContain("scr");
});

test("the other choices keep their tokens", async () => {
  const { chat } = FORMATS;
  if (chat === undefined) throw new Error("no format");
  const [first, second] = [chat.whole(CODE), chat.whole(HARMLESS)].map(
    ({ choices }) => (choices as Fields[])[0],
  );
  const body = JSON.stringify({ choices: [first, { ...second, index: 1 }] });
  const sent = JSON.parse(await received(chat, sanitation, { body, isStream: false })) as {
    choices: Fields[];
  };
  expect(sent.choices[0]?.["logprobs"]).toBeNull();
  expect(sent.choices[1]).toEqual({ ...second, index: 1 });
});

test("another text beside a token is replaced, and removed with the tokens", async () => {
  const { chat } = FORMATS;
  if (chat === undefined) throw new Error("no format");
  const bodyOf = (texts: readonly string[]) =>
    JSON.stringify(chat.whole(texts)).replaceAll('"bytes":[', `"note":"${joined(CODE)}","bytes":[`);
  for (const texts of [CODE, HARMLESS]) {
    const sent = await received(chat, sanitation, { body: bodyOf(texts), isStream: false });
    expect(sent).not.toContain("scr");
    const { choices } = JSON.parse(sent) as { choices: Fields[] };
    expect(choices[0]?.["logprobs"] === null).toBe(texts === CODE);
  }
});
