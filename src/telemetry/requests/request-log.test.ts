// The request log: its ring, its filters, its listeners, and merging the logs of several processes.
import { describe, expect, test } from "bun:test";
import { requestFacts as facts, servedBy as attempt } from "./request-facts.fixture.ts";
import { MAX_LISTENERS, mergeRequests, RequestLog, type RequestFilter } from "./request-log.ts";
import { recordOf, type RequestRecord } from "./request-record.ts";

const OURS: RequestFilter = { gatewayId: "gateway-1" };

async function idsIn(log: RequestLog, filter: Partial<RequestFilter> = {}, limit = 100): Promise<string[]> {
  const { requests } = await log.listRequests({ ...OURS, ...filter }, limit);
  return requests.map((record) => record.request_id);
}

describe("the ring", () => {
  test("keeps the last requests, newest first, and counts all that match", async () => {
    const log = new RequestLog(3);
    expect(await idsIn(log)).toEqual([]);
    for (const requestId of ["a", "b"]) log.add(facts({ requestId }));
    expect(await idsIn(log)).toEqual(["b", "a"]);
    for (const requestId of ["c", "d", "e"]) log.add(facts({ requestId }));
    log.add(facts({ requestId: "other", gatewayId: "gateway-2" }));
    expect(await idsIn(log)).toEqual(["e", "d"]);
    expect(await log.listRequests(OURS, 1)).toMatchObject({ count: 2, requests: [{ request_id: "e" }] });
  });

  test("is off with size 0", async () => {
    const log = new RequestLog(0);
    log.add(facts());
    expect([log.isOn, await idsIn(log)]).toEqual([false, []]);
  });

  test("filters by every field", async () => {
    const log = new RequestLog(10);
    const served = attempt(1, { model: "sent", status: 200 });
    log.add(facts({ requestId: "plain" }));
    log.add(facts({ requestId: "limited", status: 429, errorCode: "rate_limit_exceeded" }));
    log.add(facts({ requestId: "broken", status: 502, outcome: "failed", rule: null }));
    log.add(
      facts({ requestId: "served", apiKeyId: "key-1", attempts: [attempt(0), served], finalAttempt: served }),
    );
    log.add(facts({ requestId: "later", endedWallMs: Date.parse("2026-01-01T00:01:00.250Z") }));
    expect(await idsIn(log, { status: "429" })).toEqual(["limited"]);
    expect(await idsIn(log, { status: "5xx" })).toEqual(["broken"]);
    expect(await idsIn(log, { outcome: "failed" })).toEqual(["broken"]);
    expect(await idsIn(log, { ruleId: "rule-1", status: "2xx" })).toEqual(["later", "served", "plain"]);
    expect(await idsIn(log, { apiKeyId: "key-1" })).toEqual(["served"]);
    expect(await idsIn(log, { provider: "two" })).toEqual(["served"]);
    expect(await idsIn(log, { provider: "one" })).toEqual([]);
    expect(await idsIn(log, { model: "sent" })).toEqual(["served"]);
    expect(await idsIn(log, { model: "wanted", status: "502" })).toEqual(["broken"]);
    expect(await idsIn(log, { requestId: "plain" })).toEqual(["plain"]);
    expect(await idsIn(log, { since: Date.parse("2026-01-01T00:01:00Z") })).toEqual(["later"]);
    expect(await idsIn(log, { since: Date.parse("2026-01-01T00:01:00.001Z") })).toEqual([]);
  });
});

test("a record contains the start and duration of each step", () => {
  const failed = attempt(0, { model: "m", fault: "broken", endedAt: 1030 });
  const served = attempt(1, {
    model: "m",
    status: 200,
    translation: { from: "responses", to: "anthropic", dropped: ["seed"] },
    startedAt: 1040,
    firstByteAt: 1100,
    endedAt: 1240,
  });
  expect(
    recordOf(
      facts({
        attempts: [failed, served],
        finalAttempt: served,
        sentPath: "/v1/embeddings",
        apiKeyId: "k",
        apiKeyName: "key",
        tokens: { input: 3, output: 4, cachedInput: 1, cacheWrite: 2, reasoning: 0, isPartial: true },
        cost: 0.5,
      }),
    ),
  ).toEqual({
    request_id: "id",
    mirror_of: null,
    time: "2026-01-01T00:00:00.750Z",
    revision: 7,
    gateway_id: "gateway-1",
    gateway: "g",
    method: "POST",
    path: "/p",
    operation: "embeddings",
    rule: { id: "rule-1", name: null, path: "/p" },
    api_key: { id: "k", name: "key" },
    status: 200,
    outcome: "complete",
    error_code: null,
    provider: "two",
    target_id: "target-2",
    model: "m",
    requested_model: "wanted",
    virtual_model: null,
    mcp: null,
    fault: null,
    translation: { from: "responses", to: "anthropic", dropped: ["seed"] },
    stream: false,
    drained: false,
    hedge: null,
    shadow: [],
    attempts: [
      {
        target_id: "target-1",
        provider: "one",
        model: "m",
        status: null,
        fault: "broken",
        purpose: "request",
        retry_refused_by: null,
        start_ms: 10,
        first_byte_ms: null,
        ms: 20,
      },
      {
        target_id: "target-2",
        provider: "two",
        model: "m",
        status: 200,
        fault: null,
        purpose: "request",
        retry_refused_by: null,
        start_ms: 40,
        first_byte_ms: 60,
        ms: 200,
      },
    ],
    tokens: { input: 3, output: 4, cached_input: 1, cache_write: 2, reasoning: 0, partial: true },
    cost: 0.5,
    timings: {
      total_ms: 250,
      first_byte_ms: 100,
      first_token_ms: null,
      ms_per_output_token: null,
      body_ms: 1,
      plugins_ms: 0,
      upstream_ms: 220,
    },
    plugins: [],
  });
});

describe("listeners", () => {
  const listener = (filter = OURS) => {
    const received: RequestRecord[] = [];
    let ended = false;
    return {
      filter,
      received,
      isEnded: () => ended,
      onRequest: (record: RequestRecord) => void received.push(record),
      onClose: () => void (ended = true),
    };
  };

  test("each listener gets the requests that match, until it stops or the log closes", () => {
    const log = new RequestLog(1);
    const [all, errors, gone] = [listener(), listener({ ...OURS, status: "5xx" }), listener()];
    const stops = [all, errors, gone].map((each) => log.followRequests(each));
    stops[2]?.();
    log.add(facts({ requestId: "good" }));
    log.add(facts({ requestId: "bad", status: 500 }));
    expect(all.received.map((record) => record.request_id)).toEqual(["good", "bad"]);
    expect(errors.received.map((record) => record.request_id)).toEqual(["bad"]);
    expect(gone.received).toEqual([]);
    log.close();
    expect([all.isEnded(), errors.isEnded(), gone.isEnded()]).toEqual([true, true, false]);
  });

  test("the number of listeners is bounded; one that stops frees its place", () => {
    const log = new RequestLog(1);
    const stops = Array.from({ length: MAX_LISTENERS }, () => log.followRequests(listener()));
    expect(stops.every((stop) => stop !== null)).toBe(true);
    expect(log.followRequests(listener())).toBeNull();
    stops[0]?.();
    expect(log.followRequests(listener())).not.toBeNull();
  });
});

test("mergeRequests orders the requests of several processes", async () => {
  const pages = await Promise.all(
    [0, 1].map((process) => {
      const log = new RequestLog(10);
      for (let index = 0; index < 3; index++)
        log.add(facts({ requestId: `${process}-${index}`, endedWallMs: 1e12 + index * 10 + process }));
      return log.listRequests(OURS, 100);
    }),
  );
  const merged = mergeRequests(pages, 4);
  expect(merged.count).toBe(6);
  expect(merged.requests.map((record) => record.request_id)).toEqual(["1-2", "0-2", "1-1", "0-1"]);
});
