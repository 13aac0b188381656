// Hedged requests whose targets speak other formats than the client: the client gets its own format from whichever target wins, and an error
// event of its own format if all fail after comments. And no hedge while a provider limits requests.
import { describe, expect, test } from "bun:test";
import { seedUpstream } from "../support/balancing-fixtures.ts";
import {
  ENDS,
  INBOUND,
  MESSAGES,
  PAIRS,
  textOf,
  type Inbound,
  type Outbound,
} from "../support/client-formats.ts";
import { startWithProviders } from "../support/gatehouse-in-process.ts";
import { passTimeUntil, waitFor } from "../support/waiting.ts";

const { gatehouse, providers, clock } = await startWithProviders("one", "two");
const [one, two] = providers;

let count = 0;

/** Returns the URL of the API of the client's format. */
async function routeTo(
  inbound: Inbound,
  [first, second]: readonly [Outbound, Outbound],
  fields: object = {},
) {
  const targets = [
    { provider: "one", base_url: one.url, format: first },
    { provider: "two", base_url: two.url, format: second, priority: 2 },
  ];
  const prefix = `/hedged-${++count}`;
  const upstream = { hedge: { after: 300, budget: 1 }, ...fields };
  const rule = { path: `${prefix}/*`, strip_path: true };
  const route = await seedUpstream(gatehouse, targets, upstream, rule);
  return { url: `${gatehouse.proxyUrl}${prefix}${INBOUND[inbound].path}`, upstream: route.upstream };
}

function post(url: string, body: object, requestId: string = crypto.randomUUID()): Promise<Response> {
  const headers = { "Content-Type": "application/json", "X-Request-Id": requestId };
  return fetch(url, { method: "POST", headers, body: JSON.stringify({ model: "gpt-fake", ...body }) });
}

describe.each([true, false])("stream: %p", (stream) => {
  test("each pair of formats: the second target serves, in the format of the client, and the first is aborted", async () => {
    const text = "Good day to you";
    one.behave({ delayMs: 60_000 });
    two.behave({ text });
    const results = PAIRS.map(async ([inbound, outbound]) => {
      const { url } = await routeTo(inbound, ["openai", outbound]);
      const response = await post(url, { ...INBOUND[inbound].body, stream });
      const body = await response.text();
      const ending = stream && !body.includes(ENDS[inbound]) ? "not complete" : "complete";
      const { headers } = response;
      return [
        [inbound, outbound],
        [response.status, headers.get("x-gw-provider"), headers.get("x-gw-hedged"), ending],
        textOf(inbound, body),
      ];
    });
    expect(await passTimeUntil(clock, Promise.all(results))).toEqual(
      PAIRS.map((pair) => [[...pair], [200, "two", "won", "complete"], text]),
    );
    await one.until(
      () => one.requests.length === PAIRS.length && one.requests.every(({ aborted }) => aborted),
    );
  });

  test("each pair of formats: the first target serves if it has content first", async () => {
    const text = "Good day to you";
    one.behave({ text, delayMs: 600 });
    two.behave({ delayMs: 60_000 });
    const results = PAIRS.map(async ([inbound, outbound]) => {
      const { url } = await routeTo(inbound, [outbound, "openai"]);
      const response = await post(url, { ...INBOUND[inbound].body, stream });
      return [inbound, outbound, response.headers.get("x-gw-hedged"), textOf(inbound, await response.text())];
    });
    expect(await passTimeUntil(clock, Promise.all(results))).toEqual(
      PAIRS.map((pair) => [...pair, "lost", text]),
    );
    await two.until(
      () => two.requests.length === PAIRS.length && two.requests.every(({ aborted }) => aborted),
    );
  });
});

test("a target that gets the request in another format is hedged without store: false, one of the Responses API is not", async () => {
  one.behave({ delayMs: 1000 });
  two.behave({ delayMs: 1000 });
  const attempts = async (inbound: Inbound, outbound: Outbound, body: object) => {
    const { url } = await routeTo(inbound, [outbound, outbound]);
    const response = await passTimeUntil(clock, post(url, body));
    await response.text();
    return response.headers.get("x-gw-attempts");
  };
  expect(await attempts("responses", "anthropic", { input: "hello" })).toBe("2");
  expect(await attempts("responses", "responses", { input: "hello" })).toBe("1");
  expect(await attempts("openai", "responses", { messages: MESSAGES })).toBe("2");
});

describe("if all attempts fail after comments were sent, an error event of the client's format ends the stream", () => {
  const ERROR: Record<Inbound, RegExp> = {
    openai: /^data: \{"error":\{"message":".+\}\n\n$/,
    anthropic: /^event: error\ndata: \{"type":"error","error":\{"type":"\w+","message":".+\}\n\n$/,
    responses:
      /^(?:event: response\.(?:created|in_progress)\n.*\n\n)*event: response\.failed\ndata: \{.+\}\n\n$/,
  };

  test.each([
    ["connections break", { closeBeforeAnswer: true }, "upstream_unreachable"],
    ["streams report errors", { errorAfterChunks: 0 }, "upstream_bad_answer"],
    ["both reject the request", { status: 400 }, null],
  ])("%s: each pair of formats", async (_, failure, errorCode) => {
    one.behave({ delayMs: 5_500, ...failure });
    two.behave({ delayMs: 5_500, ...failure });
    const results = PAIRS.map(async ([inbound, outbound]) => {
      const { url, upstream } = await routeTo(inbound, [outbound, outbound], { max_attempts: 2 });
      const requestId = crypto.randomUUID();
      const response = await post(url, { ...INBOUND[inbound].body, stream: true }, requestId);
      const text = await response.text();
      const gateway = upstream.split("/upstreams")[0] ?? "";
      const record = await waitFor(async () => {
        const { body } = await gatehouse.api("GET", `${gateway}/requests?request_id=${requestId}`);
        return body.requests[0] ?? null;
      });
      const event = text.replaceAll(": keep-alive\n\n", "");
      return {
        pair: [inbound, outbound],
        status: response.status,
        hasComments: text.startsWith(": keep-alive\n\n"),
        event: ERROR[inbound].test(event) ? "one error event" : event,
        attempts: record.attempts.length as number,
        errorCode: errorCode === null ? null : (record.error_code as unknown),
      };
    });
    const expected = { status: 200, hasComments: true, event: "one error event", attempts: 2, errorCode };
    expect(await passTimeUntil(clock, Promise.all(results))).toEqual(
      PAIRS.map((pair) => ({ pair: [...pair], ...expected })),
    );
  });
});

test("no request is hedged while a provider responds with 429, at any load, and again 10 s later", async () => {
  const { url } = await routeTo("openai", ["openai", "anthropic"]);
  let serial = 0;
  const isStorm = () => clock.now() < stormEnd;
  const stormEnd = clock.now() + 9_000;
  for (const provider of providers)
    provider.behave(() => (isStorm() && ++serial % 5 === 1 ? { status: 429 } : { delayMs: 1500 }));
  await passTimeUntil(
    clock,
    post(url, { messages: MESSAGES }).then((response) => response.text()),
  );
  const open = new Set<Promise<void>>();
  const hedged: number[] = [];
  let served = 0;
  const sendOne = async () => {
    const response = await post(url, { messages: MESSAGES });
    await response.text();
    served++;
    if (response.headers.has("x-gw-hedged")) hedged.push(served);
  };
  while (isStorm()) {
    while (open.size < 10) {
      const sent: Promise<void> = sendOne().finally(() => open.delete(sent));
      open.add(sent);
    }
    await passTimeUntil(clock, Promise.race(open));
  }
  await passTimeUntil(clock, Promise.all(open));
  expect(served).toBeGreaterThan(40);
  expect(hedged).toEqual([]);
  clock.advance(10_000);
  await passTimeUntil(clock, sendOne());
  expect(hedged.length).toBe(1);
});
