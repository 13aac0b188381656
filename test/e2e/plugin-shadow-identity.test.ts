// The bytes to the provider and to the client are the same with and without plugins in shadow mode, over random requests.
import { expect, setDefaultTimeout, test } from "bun:test";
import type { Behavior, HeaderPair, RecordedRequest } from "../../src/fake-provider/server.ts";
import { runs } from "../support/long-form.ts";
import { limiter, scripted, scriptedWhole, type Fields } from "../support/plugin-fixtures.ts";
import { usePluginHarness } from "../support/plugin-harness.ts";
import { CHAT } from "../support/proxy-fixtures.ts";
import { waitUntil } from "../support/waiting.ts";

setDefaultTimeout(3_600_000);

const harness = usePluginHarness();

/** Changes, responds, throws, or never ends, by a header of the request. */
const MEDDLE = `
  const kind = context.requestId.charCodeAt(context.requestId.length - 1) % 5;
  context.notes.set("seen", true);
  if (kind === 0) throw new Error("on purpose");
  if (context.requestId.endsWith("77")) return new Promise(() => undefined);
  if (kind === 2) context.respond?.({ status: 403, headers: { "x-shadow": "1" }, body: "no" });
  context.setHeader?.("x-shadow", "1");
  context.setResponseHeader?.("x-shadow", "1");
  context.setPath?.("/elsewhere");
  context.setStatus?.(418);
  context.bodyView?.fill(32);
  context.chunk?.fill(32);
  context.replaceBody?.("{}");
  context.replaceChunk?.("gone");`;

const STAGES = ["pre_request", "post_request", "pre_response", "post_response"] as const;

const ENFORCED: readonly Fields[] = [
  scripted("pre_request", `context.setHeader("x-enforced", "1")`, { priority: 5 }),
  scripted(
    "pre_response",
    `if (context.text.includes("upper")) context.replaceChunk(context.text.toUpperCase())`,
    {
      priority: 5,
    },
  ),
  limiter({ global: [1_000_000, "1h"] }, {}, { priority: 6 }),
];
const SHADOWS: readonly Fields[] = [
  ...STAGES.flatMap((stage) => [scripted(stage, MEDDLE), scriptedWhole(stage, MEDDLE, { priority: 9 })]),
  limiter({ global: [1, "1h"] }),
  {
    name: "token_limiter",
    stage: "pre_request",
    settings: { limits: { global: { limit: 1, window: "1h" } } },
  },
  {
    name: "code_sanitation",
    stage: "pre_request",
    settings: { languages: [{ language: "sql" }], content_to_check: ["body"], action: "block" },
  },
].map((entry) => ({ ...entry, mode: "shadow", sample: 0.9 }));

/** Returns a generator of numbers from 0 to `below` that depends on the seed only. */
function numbers(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

const ENCODINGS = ["gzip", "br", "deflate", "zstd"] as const;

function randomCase(seed: number): {
  readonly body: string | Uint8Array;
  readonly behavior: Behavior;
  readonly type: string;
} {
  const next = numbers(seed);
  const text = `x'; ${"drop".toUpperCase()} TABLE users; -- ä😀 upper `.repeat(next(200));
  const isChat = next(4) > 0;
  const stream = next(2) === 0;
  const json = JSON.stringify({ ...CHAT, messages: [{ role: "user", content: text }], stream });
  const encoding = ENCODINGS[next(8)];
  const events = Array.from(
    { length: 1 + next(5) },
    (_, index) => `data: {"part":${index},"text":"${text.slice(0, 40)}"}\n\n`,
  );
  const status = next(6) === 0 ? 400 + next(2) * 4 : 200;
  const headers: HeaderPair[] = [["Content-Type", stream ? "text/event-stream" : "application/json"]];
  const behavior = {
    status,
    headers,
    body:
      stream && status === 200 ? events : JSON.stringify({ id: "fixed", object: "chat.completion", text }),
    ...(encoding !== undefined && { encoding }),
  };
  return isChat
    ? { body: json, behavior, type: "application/json" }
    : { body: Buffer.from(text + String(seed)), behavior, type: "application/octet-stream" };
}

/** Header fields whose values are times, or depend on the order of requests that are sent at the same time. */
const VARIABLE = new Set([
  "date",
  "server-timing",
  "x-gw-provider-request-id",
  "x-ratelimit-global-reset",
  "x-ratelimit-global-remaining",
]);
/** Requests at a time. */
const CONCURRENCY = 8;
const CASE_HEADER = "x-case";

/** The cases that are being sent, and what the provider has received of each. */
const open = new Map<string, { readonly behavior: Behavior; readonly received: RecordedRequest[] }>();

async function observe(path: string, id: string, given: ReturnType<typeof randomCase>): Promise<object> {
  const received: RecordedRequest[] = [];
  open.set(id, { behavior: given.behavior, received });
  const response = await fetch(harness.gatehouse.proxyUrl + path, {
    method: "POST",
    headers: {
      "content-type": given.type,
      "x-request-id": id,
      [CASE_HEADER]: id,
      "accept-encoding": "gzip, br, deflate, zstd",
    },
    body: given.body,
    decompress: false,
  });
  const bytes = Buffer.from(await response.arrayBuffer()).toString("latin1");
  open.delete(id);
  const sent = received.map(({ method, target, headers, body }) => ({
    method,
    target,
    headers,
    body: Buffer.from(body).toString("latin1"),
  }));
  const fields = [...response.headers].filter(([name]) => !VARIABLE.has(name));
  return { status: response.status, fields, bytes, sent };
}

test("the bytes do not depend on plugins in shadow mode", async () => {
  const plain = await harness.seed(ENFORCED);
  const shadowed = await harness.seed([...SHADOWS, ...ENFORCED]);
  const count = runs({ short: 60, long: 100_000 });
  const first = Date.now() % 1_000_000;
  harness.provider.behave((request) => {
    const known = open.get(request.header(CASE_HEADER) ?? "");
    if (known === undefined) throw new Error("a request of no case has arrived");
    known.received.push(request);
    return known.behavior;
  });
  let next = first;
  const compareCases = async () => {
    while (next < first + count) {
      const seed = next++;
      const given = randomCase(seed);
      const id = `request-${seed}`;
      const expected = await observe(plain.path, id, given);
      const actual = await observe(shadowed.path, id, given);
      expect({ seed, ...actual }).toEqual({ seed, ...expected });
    }
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, compareCases));
  // The limits in shadow mode use nothing of those in effect.
  expect(await remainingOf(shadowed.path)).toBe(await remainingOf(plain.path));
  const report = `/gateways/${shadowed.gateway}/plugins/0/shadow`;
  await waitUntil(
    async () => Number((await harness.gatehouse.api("GET", report)).body.counts.ran) > count / 5,
  );
});

async function remainingOf(path: string): Promise<number> {
  harness.provider.behave({});
  const response = await fetch(harness.gatehouse.proxyUrl + path, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(CHAT),
  });
  await response.arrayBuffer();
  return Number(response.headers.get("x-ratelimit-global-remaining") ?? Number.NaN);
}
