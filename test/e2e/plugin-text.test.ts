// Plugins that work on the text of responses, in a gateway: whole and streamed, in the format of the client, with holds and rejections.
import { afterAll, beforeEach, expect, test } from "bun:test";
import { rmSync } from "node:fs";
import {
  pluginsDirectory,
  postChat,
  seedPlugins,
  STREAMED_CHAT,
  type Fields,
} from "../support/plugin-fixtures.ts";
import { readStreamedResponse, readWholeResponse } from "../support/text-streams.ts";
import { useFakeProvider, useGatehouse } from "../support/use-gatehouse.ts";
import { waitFor } from "../support/waiting.ts";

/** Replaces a word, across the borders of events; rejects another one; holds everything after a third. */
const SOURCE = `
  import { definePlugin, z } from "gatehouse/sdk";
  export default definePlugin({
    name: "words",
    description: "Replaces a word.",
    stages: ["pre_request", "pre_response"],
    needs: ["text"],
    settings: z.strictObject({ fails: z.boolean().default(false) }),
    create: ({ fails }) => ({
      pre_request() {},
      response_text(context) {
        if (fails) throw new Error("broken");
        const { text, isLast, isForced } = context;
        if (text.includes("forbidden"))
          return context.reject({ status: 451, code: "word_forbidden", message: "That word is forbidden." });
        if (text.includes("hoard") && !isLast && !isForced) return context.release(0);
        const length = isLast || isForced ? text.length : Math.max(0, text.length - 5);
        const end = text.slice(0, length).lastIndexOf(" ") + 1;
        const sent = isLast || isForced ? text : text.slice(0, end);
        context.release(sent.length, sent.replaceAll("secret", "[...]"));
      },
    }),
  });`;

const directory = pluginsDirectory({
  "words.ts": SOURCE,
  "greedy.ts": SOURCE.replace('"words"', '"greedy"').replace(
    'needs: ["text"]',
    'needs: ["text"], hold: { content: { characters: 5000 } }',
  ),
});
afterAll(() => rmSync(directory, { recursive: true, force: true }));
const [gatehouse, provider] = await Promise.all([
  useGatehouse({ env: { PLUGINS_DIR: directory } }),
  useFakeProvider(),
]);
beforeEach(() => provider.reset());

const words = (fields: Fields = {}): Fields => ({ name: "words", stage: "pre_response", ...fields });
const route = await seedPlugins(gatehouse, provider, [words()]);

async function streamed(text: string, behavior: Fields = {}): Promise<Buffer> {
  provider.behave({ text, ...behavior });
  const response = await postChat(gatehouse, route, { body: STREAMED_CHAT });
  return Buffer.from(await response.arrayBuffer());
}

test("text is replaced in a whole body, also in a compressed one", async () => {
  for (const gzip of [false, true]) {
    provider.behave({ text: "A secret \u00fc, and a secret.", gzip });
    const response = await postChat(gatehouse, route);
    expect(response.headers.get("content-encoding")).toBeNull();
    const { content } = readWholeResponse("openai", await response.text());
    expect(content).toBe("A [...] \u00fc, and a [...].");
  }
});

test("text is replaced in a stream, however the provider cuts it", async () => {
  const text = "one secret two secret three";
  for (const pieces of [["one sec", "ret two s", "ecret th", "ree"], [text], text.match(/./g) ?? []]) {
    const events = pieces.map(
      (content) => `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content } }] })}\n\n`,
    );
    const body = Buffer.from(`${events.join("")}data: [DONE]\n\n`);
    const headers: [string, string][] = [["Content-Type", "text/event-stream"]];
    const sent = await streamed("", { headers, body: [body.subarray(0, 61), body.subarray(61)] });
    expect(sent.toString()).toEndWith("data: [DONE]\n\n");
    expect(readStreamedResponse("openai", sent).content).toBe("one [...] two [...] three");
  }
});

test("an entry of pre_request works on the text of the response, too", async () => {
  const atRequest = await seedPlugins(gatehouse, provider, [words({ stage: "pre_request" })]);
  provider.behave({ text: "a secret" });
  const response = await postChat(gatehouse, atRequest);
  expect(readWholeResponse("openai", await response.text()).content).toBe("a [...]");
});

test("a translated response is changed in the format of the client", async () => {
  const translated = await seedPlugins(gatehouse, provider, [words()], {
    target: { path: "/v1/chat/completions" },
    rule: { response_format: "anthropic" },
  });
  provider.behave({ text: "a secret word" });
  const whole = await postChat(gatehouse, translated);
  expect(await whole.json()).toMatchObject({
    type: "message",
    content: [{ type: "text", text: "a [...] word" }],
  });
  const response = await postChat(gatehouse, translated, { body: STREAMED_CHAT });
  const sent = Buffer.from(await response.arrayBuffer());
  expect(readStreamedResponse("anthropic", sent).content).toBe("a [...] word");
});

test("a rejected whole response is an error response", async () => {
  provider.behave({ text: "a forbidden word" });
  const response = await postChat(gatehouse, route);
  expect(response.status).toBe(451);
  expect(await response.json()).toMatchObject({ code: "word_forbidden", error: "That word is forbidden." });
});

test("a rejected stream ends with an error event and a broken connection", async () => {
  provider.behave({ text: "one two forbidden three", chunkDelayMs: 0 });
  let sent = "";
  // A reset may discard bytes that were not read in time: then again.
  for (let turn = 0; turn < 5 && !sent.includes("error"); turn++) {
    const response = await postChat(gatehouse, route, { body: STREAMED_CHAT });
    expect(response.status).toBe(200);
    sent = "";
    const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
    const reading = (async () => {
      for (let part = await reader?.read(); part?.done === false; part = await reader?.read())
        sent += part.value;
    })();
    const end = await reading.then(
      () => "complete",
      () => "broken",
    );
    expect(end).toBe("broken");
  }
  expect(sent).toContain('"error":{"message":"That word is forbidden."');
  expect(sent).not.toContain("[DONE]");
  expect(sent).not.toContain("forbidden three");
});

test.each([
  ["rejects", {}],
  ["fails on", { settings: { fails: true } }],
])("a stream that a plugin %s says nothing about the health of the target", async (_, fields) => {
  const checked = await seedPlugins(gatehouse, provider, [words(fields)], {
    upstream: { health_checks: { passive: true, threshold: 1, interval: 60 } },
  });
  provider.behave({ text: "one two forbidden three" });
  // With its only target ejected, the gateway would respond 503 to the second request.
  for (let request = 0; request < 2; request++) {
    const response = await postChat(gatehouse, checked, { body: STREAMED_CHAT });
    expect(response.status).toBe(200);
    expect(await response.text().catch(() => "broken")).not.toContain("[DONE]");
  }
  const logged = await waitFor(async () => {
    const { body } = await gatehouse.api("GET", `/gateways/${checked.gateway}/requests`);
    return body.requests.length === 2 ? body.requests : null;
  });
  // The provider did not cut the stream.
  expect(logged).toMatchObject([
    { outcome: "incomplete", attempts: [{ fault: null }] },
    { outcome: "incomplete", attempts: [{ fault: null }] },
  ]);
});

test("text that is held for too long is sent while the provider is silent", async () => {
  provider.behave({ text: "hoard this now", stallAfterChunks: 4 });
  const abort = new AbortController();
  const response = await postChat(gatehouse, route, { body: STREAMED_CHAT, signal: abort.signal });
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  let sent = "";
  for (let part = await reader?.read(); part?.done === false; part = await reader?.read()) {
    sent += part.value;
    if (sent.includes("hoard")) break;
  }
  abort.abort();
  expect(sent).toContain("hoard");
});

test("a plugin that fails breaks its response, or is skipped", async () => {
  const failing = (fields: Fields) =>
    seedPlugins(gatehouse, provider, [words({ settings: { fails: true }, ...fields })]);
  provider.behave({ text: "a secret" });
  const failed = await postChat(gatehouse, await failing({}));
  expect(failed.status).toBe(500);
  expect(await failed.json()).toMatchObject({ code: "plugin_failed" });
  const skipped = await postChat(gatehouse, await failing({ on_error: "continue" }));
  expect(readWholeResponse("openai", await skipped.text()).content).toBe("a secret");
});

test("a hold above the limit is a problem of the configuration", async () => {
  const failure = await seedPlugins(gatehouse, provider, [{ name: "greedy", stage: "pre_response" }]).catch(
    String,
  );
  expect(failure).toContain("hold.content.characters is 5000; give a number from 0 to 4096");
});

test("a chat response that is no JSON is rejected: its text cannot be read", async () => {
  const bytes = Buffer.from([0, 255, 1, 254, 0x22, 0x7b]);
  const headers: [string, string][] = [["Content-Type", "audio/mpeg"]];
  provider.behave({ body: bytes, headers });
  const response = await postChat(gatehouse, route);
  expect(response.status).toBe(502);
  expect(await response.json()).toMatchObject({ code: "upstream_bad_answer" });
});

test("in shadow mode, text hooks change nothing and are reported", async () => {
  const shadowed = await seedPlugins(gatehouse, provider, [words({ mode: "shadow" })]);
  const plain = await seedPlugins(gatehouse, provider, []);
  const bodies = async (text: string, body?: Fields) => {
    provider.behave({ text });
    const responses = await Promise.all(
      [shadowed, plain].map((each) => postChat(gatehouse, each, body === undefined ? {} : { body })),
    );
    expect(responses.map(({ status }) => status)).toEqual([200, 200]);
    const texts = await Promise.all(responses.map((response) => response.text()));
    // The provider numbers its responses.
    return texts.map((each) => each.replaceAll(/fake\d+|"created":\d+/g, ""));
  };
  // A replaced word and a rejected one, whole and streamed.
  for (const text of ["a secret word", "a forbidden word"])
    for (const body of [undefined, STREAMED_CHAT]) {
      const [shadow, without] = await bodies(text, body);
      expect(shadow).toBe(without ?? "");
      expect(shadow).toContain(text.split(" ")[1] ?? "");
    }
  const report = await waitFor(async () => {
    const { body } = await gatehouse.api("GET", `/gateways/${shadowed.gateway}/plugins/words/shadow`);
    return body.counts.ran === 4 ? body : null;
  });
  expect(report.counts).toMatchObject({ changed: 2, responded: 2, failed: 0, skipped: 0 });
  expect(report.statuses).toEqual({ 451: 2 });
});
