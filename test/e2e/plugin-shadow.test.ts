// Plugins in shadow mode over real HTTP: what they change, respond and throw is recorded and has no effect; reports and promotion.
import { describe, expect, test } from "bun:test";
import { expectError } from "../support/admin-fixtures.ts";
import type { ApiResponse } from "../support/gatehouse-process.ts";
import { limiter, logRecords, scripted, scriptedWhole, STREAMED_CHAT } from "../support/plugin-fixtures.ts";
import type { Fields, Stage } from "../support/plugin-fixtures.ts";
import { usePluginHarness } from "../support/plugin-harness.ts";
import { CHAT, type SeededRoute } from "../support/proxy-fixtures.ts";
import { waitFor } from "../support/waiting.ts";

/** Returns the source of a plugin that runs this code at every stage. */
function versionSource(code: string, settings = "z.object({})"): string {
  return `
    import { definePlugin, z } from "gatehouse/sdk";
    const stages = ["pre_request", "post_request", "pre_response"];
    export default definePlugin({
      name: "versioned",
      description: "Has two versions.",
      stages,
      settings: ${settings},
      create: () => ({
        pre_request(context) { ${code} },
        post_request(context) { context.setHeader("x-version", "same"); },
        pre_response(context) { context.replaceChunk(context.text.toUpperCase()); },
      }),
    });`;
}

const CURRENT = `
  context.setHeader("x-version", "same");
  const kind = context.headers.get("x-kind");
  if (kind === "respond") context.respond({ status: 403, body: { error: "no" } });
  if (kind === "fails") throw new Error("fixed in the next version");`;
const NEXT = `
  const kind = context.headers.get("x-kind");
  context.setHeader("x-version", kind === "header" ? "other" : "same");
  if (kind === "body") context.replaceBody('{"model":"m","messages":[]}');
  if (kind === "respond") context.respond({ status: 404, body: { error: "no" } });`;

const harness = usePluginHarness({
  "versioned.ts": versionSource(CURRENT),
  "versioned@next.ts": versionSource(NEXT),
  "unsettled.ts": versionSource("").replace('"versioned"', '"unsettled"'),
  "unsettled@next/index.ts": versionSource("", "z.object({ needed: z.string() })").replace(
    '"versioned"',
    '"unsettled"',
  ),
});

const SHADOW = { mode: "shadow" };

function shadowed(stage: Stage, code: string, fields: Fields = {}): Fields {
  return scripted(stage, code, { ...SHADOW, ...fields });
}

function reportOf({ gateway }: SeededRoute, entry = "scripted"): Promise<ApiResponse> {
  return harness.gatehouse.api("GET", `/gateways/${gateway}/plugins/${entry}/shadow`);
}

/** Resolves to the report when this many requests are in it. */
function reportWith(route: SeededRoute, ran: number, entry = "scripted"): Promise<ApiResponse["body"]> {
  return waitFor(async () => {
    const { body } = await reportOf(route, entry);
    return Number(body.counts.ran) + Number(body.counts.skipped) >= ran ? body : null;
  });
}

/** Everything that a plugin could change, at each stage. */
const CHANGES: readonly (readonly [Stage, string])[] = [
  [
    "pre_request",
    `context.setHeader("x-shadow", "1"); context.removeHeader("user-agent"); context.setPath("/elsewhere");
     context.setQuery("a=b"); context.setResponseHeader("x-shadow", "1"); context.notes.set("a", 1);
     context.json.model = "changed"; context.json.messages.length = 0; context.bodyView.fill(32);
     context.replaceBody('{"model":"other"}');`,
  ],
  ["pre_request", `context.respond({ status: 403, body: { error: "no", code: "shadow_says_no" } })`],
  ["pre_request", `throw new Error("on purpose")`],
  ["pre_request", `return new Promise(() => undefined)`],
  [
    "post_request",
    `context.setStatus(500); context.setHeader("x-shadow", "1"); context.removeHeader("content-type")`,
  ],
  ["post_request", `throw new Error("on purpose")`],
  ["pre_response", `context.chunk.fill(32); context.replaceChunk("gone")`],
  ["pre_response", `throw new Error("on purpose")`],
  ["post_response", `throw new Error("on purpose")`],
];

/** Header fields that differ from request to request. */
const VARIABLE = new Set(["date", "server-timing", "x-request-id", "request-id", "traceparent", "host"]);

async function bytesOf(response: Response): Promise<unknown> {
  const headers = [...response.headers].filter(([name]) => !VARIABLE.has(name));
  const body = (await response.text()).replace(/chatcmpl-[\w-]+/g, "id").replace(/"created":\d+/g, "");
  return { status: response.status, headers, body };
}

function sentBytes(): unknown {
  const sent = harness.provider.requests.map(({ method, target, headers, body }) => ({
    method,
    target,
    headers: headers.filter(([name]) => !VARIABLE.has(name.toLowerCase())),
    body: Buffer.from(body).toString(),
  }));
  harness.provider.reset();
  return sent;
}

describe("a plugin in shadow mode", () => {
  test.each(CHANGES)("has no effect on what is sent at %s: %s", async (stage, code) => {
    const plain = await harness.seed([]);
    const shadow = await harness.seed([
      shadowed(stage, code),
      { ...shadowed(stage, code), name: "scripted_whole" },
    ]);
    for (const body of [undefined, STREAMED_CHAT]) {
      const call = { headers: { "x-request-id": "fixed", "accept-encoding": "gzip" }, ...(body && { body }) };
      const expected = await bytesOf(await harness.post(plain, call));
      const expectedSent = sentBytes();
      const actual = await bytesOf(await harness.post({ ...shadow, path: shadow.path }, call));
      expect(actual).toEqual(expected);
      expect(sentBytes()).toEqual(expectedSent);
    }
  });

  test("counts what it would have done, and keeps the requests on which it would have had an effect", async () => {
    const code = `
      const kind = context.headers.get("x-kind");
      if (kind === "change") context.setHeader("x-a", "b");
      if (kind === "respond") context.respond({ status: 451, body: { error: "no", code: "legal_reasons" } });
      if (kind === "throw") throw new Error("failed with Bearer sk-abcdefghijklmnopqrstuvwxyz0123456789");`;
    const route = await harness.seed([shadowed("pre_request", code)]);
    const ids: Record<string, string | null> = {};
    for (const kind of ["pass", "change", "respond", "throw"]) {
      const response = await harness.post(route, { headers: { "x-kind": kind } });
      expect(response.status).toBe(200);
      ids[kind] = response.headers.get("x-request-id");
    }
    const report = await reportWith(route, 4);
    expect(report).toMatchObject({ name: "scripted", position: 0, mode: "shadow", sample: 1, next: null });
    expect(report.counts).toMatchObject({
      ran: 4,
      passed: 1,
      changed: 1,
      responded: 1,
      failed: 1,
      skipped: 0,
    });
    expect(report.statuses).toEqual({ "451": 1 });
    expect(report.samples).toMatchObject([
      { request_id: ids["throw"], outcome: "failed", status: null },
      {
        request_id: ids["respond"],
        outcome: "responded",
        status: 451,
        detail: "would respond with status 451 (legal_reasons)",
      },
      { request_id: ids["change"], outcome: "changed", detail: "would change the header x-a" },
    ]);
    expect(JSON.stringify(report)).not.toContain("abcdefghijkl");
    const { body } = await harness.gatehouse.api("GET", `/gateways/${route.gateway}/requests`);
    const logged = body.requests.find((each: Fields) => each["request_id"] === ids["respond"]);
    expect(logged.plugins).toEqual([]);
    expect(logged.shadow).toMatchObject([
      { name: "scripted@shadow", stage: "pre_request", outcome: "responded", status: 451 },
    ]);
    const metrics = await (await fetch(`${harness.gatehouse.adminUrl}/metrics`)).text();
    expect(metrics).toMatch(/gatehouse_plugin_shadow_total\{[^}]*outcome="responded"[^}]*\} [1-9]/);
  });

  test("keeps the last 100 requests", async () => {
    const route = await harness.seed([shadowed("pre_request", `context.setHeader("x-a", "b")`)]);
    for (let sent = 0; sent < 102; sent++)
      await (await harness.post(route, { headers: { "x-request-id": `request-${sent}` } })).text();
    const report = await reportWith(route, 102);
    expect(report.samples.length).toBe(100);
    expect(report.samples[0].request_id).toBe("request-101");
  });

  test("runs at its place among the other plugins, on the share of the requests in `sample`", async () => {
    const note = (name: string) => `context.setDetail("saw " + context.forwardedHeaders.get("${name}"))`;
    const set = (name: string) => `context.setHeader("x-seen", "${name}")`;
    const route = await harness.seed([
      scripted("pre_request", set("first"), { priority: 1 }),
      shadowed("pre_request", `${note("x-seen")}; context.setHeader("x-seen", "shadow")`, { priority: 2 }),
      scripted("pre_request", set("second"), { priority: 3 }),
      { ...shadowed("pre_request", "", { sample: 0 }), name: "scripted_whole" },
    ]);
    await harness.post(route);
    const report = await reportWith(route, 1, "1");
    expect(report.samples[0].detail).toContain("saw first");
    expect(harness.sentRequest.header("x-seen")).toBe("second");
    expect((await reportOf(route, "scripted_whole")).body.counts).toMatchObject({ ran: 0, skipped: 0 });
  });

  test("shares notes with itself at later stages, and with no other plugin", async () => {
    const code = `context.setDetail(String(context.notes.get("a"))); context.notes.set("a", "shadow"); throw new Error()`;
    const route = await harness.seed([
      scripted("pre_request", `context.notes.set("a", "enforced")`),
      shadowed("pre_request", code),
      shadowed("pre_response", code),
    ]);
    await harness.post(route);
    const first = await reportWith(route, 1, "1");
    const second = await reportWith(route, 1, "2");
    expect([first.samples[0].detail, second.samples[0].detail]).toEqual([": undefined", ": shadow"]);
  });

  test("sees the whole body and the chunks of a compressed response", async () => {
    const code = `context.setDetail(context.text.includes("chat.completion") ? "decoded" : "encoded"); throw new Error("")`;
    const route = await harness.seed([
      shadowed("pre_response", code),
      scriptedWhole("pre_response", code, SHADOW),
    ]);
    await harness.post(route, { headers: { "accept-encoding": "gzip" } });
    await harness.post(route, { body: STREAMED_CHAT, headers: { "accept-encoding": "gzip" } });
    for (const entry of ["scripted", "scripted_whole"]) {
      const { samples } = await reportWith(route, 2, entry);
      expect(samples.map(({ detail }: Fields) => detail)).toEqual([": decoded", ": decoded"]);
    }
  });

  test.each<[string, Fields[]]>([
    ["alone", []],
    ["beside an enforced plugin", [scripted("pre_response", "", { priority: 2 })]],
  ])("sees kept responses and streams that requests share, %s", async (_, enforced) => {
    const cache = { name: "response_cache", stage: "pre_request", settings: { isolation: "gateway" } };
    const route = await harness.seed([shadowed("pre_response", `throw new Error("")`), ...enforced, cache]);
    await harness.post(route);
    await harness.post(route);
    await harness.post(route, { body: STREAMED_CHAT });
    expect((await reportWith(route, 3, "0")).counts).toMatchObject({ failed: 3, skipped: 0 });
    harness.provider.behave({ delayMs: 100 });
    const body = { ...STREAMED_CHAT, seed: 1 };
    await Promise.all([harness.post(route, { body }), harness.post(route, { body })]);
    expect((await reportWith(route, 5, "0")).counts).toMatchObject({ failed: 5, skipped: 0 });
  });

  test("counts rate limits in its own counters, and adds no headers", async () => {
    const route = await harness.seed([
      limiter({ global: [3, "1h"] }),
      limiter({ global: [1, "1h"] }, {}, { ...SHADOW, priority: 0 }),
    ]);
    const plain = await harness.seed([limiter({ global: [3, "1h"] })]);
    const headers = (response: Response) =>
      [...response.headers.keys()].filter((name) => name.includes("ratelimit"));
    const responses = [await harness.post(route), await harness.post(route), await harness.post(route)];
    expect(responses.map(({ status }) => status)).toEqual([200, 200, 200]);
    expect(headers(responses[0]!)).toEqual(headers(await harness.post(plain)));
    expect((await harness.post(route)).status).toBe(429);
    const report = await reportWith(route, 4, "rate_limiter");
    expect(report.counts).toMatchObject({ passed: 1, responded: 3 });
    expect(report.statuses).toEqual({ "429": 3 });
  });

  test("is explained, without counting the request", async () => {
    const route = await harness.seed([limiter({ global: [1, "1h"] }, {}, SHADOW)]);
    const explain = () =>
      harness.gatehouse.api("POST", `/gateways/${route.gateway}/explain`, {
        method: "POST",
        path: route.path,
        headers: { "content-type": "application/json" },
        body: JSON.stringify(CHAT),
      });
    const expected = { name: "rate_limiter@shadow", stage: "pre_request" };
    for (let explained = 0; explained < 2; explained++)
      expect((await explain()).body.plugins).toEqual([
        { ...expected, verdict: "passed", detail: "has no effect" },
      ]);
    await harness.post(route);
    await reportWith(route, 1, "rate_limiter");
    const { body } = await explain();
    expect(body.plugins).toMatchObject([{ ...expected, verdict: "answered" }]);
    expect(body.plugins[0].detail).toContain("would respond with status 429");
    expect(body).toMatchObject({ limits: [], answer: null });
  });

  test("stores no blocks", async () => {
    const settings = { actions: { type: "block", block_duration: "1h" } };
    const route = await harness.seed([limiter({ per_ip: [1, "1h"] }, settings, SHADOW)]);
    for (let sent = 0; sent < 3; sent++) expect((await harness.post(route)).status).toBe(200);
    const report = await reportWith(route, 3, "rate_limiter");
    expect(report.counts.responded).toBe(2);
    const { body } = await harness.gatehouse.api("GET", `/gateways/${route.gateway}/blocks`);
    expect(body.blocks).toEqual([]);
  });

  test("does not make the gateway read an upload that is forwarded while it arrives", async () => {
    const route = await harness.seed([scriptedWhole("pre_request", "", SHADOW)], {
      rule: { path: "/shadow-upload/files" },
    });
    const form = new FormData();
    // Larger than MAX_BODY_BYTES of this gateway.
    form.set("file", new Blob([new Uint8Array(3 << 19)]));
    const response = await fetch(harness.gatehouse.proxyUrl + route.path, { method: "POST", body: form });
    expect(response.status).not.toBe(413);
    expect(harness.provider.requestCount).toBe(1);
    const { counts } = await reportWith(route, 1, "scripted_whole");
    expect(counts).toMatchObject({ ran: 0, skipped: 1 });
  });

  test("logs no error for what it throws", async () => {
    const route = await harness.seed([shadowed("pre_request", `throw new Error("quiet please")`)]);
    await harness.post(route);
    await reportWith(route, 1);
    expect(
      logRecords(harness.gatehouse).filter((line) => JSON.stringify(line).includes("quiet please")),
    ).toEqual([]);
  });
});

describe("the next version of a plugin", () => {
  test.each(["inline", "worker", "process"])(
    "runs beside the current one, and reports where both disagree (%s)",
    async (isolation) => {
      const route = await harness.seed([{ name: "versioned", stage: "pre_request", isolation }]);
      const statuses = [];
      const kinds = ["same", "header", "body", "respond", "fails"];
      for (const kind of kinds)
        statuses.push(
          (await harness.post(route, { headers: { "x-kind": kind, "x-request-id": kind } })).status,
        );
      expect(statuses).toEqual([200, 200, 200, 403, 500]);
      expect(harness.provider.requests.map((request) => request.header("x-version"))).toEqual(
        Array.from({ length: 3 }, () => "same"),
      );
      const { next } = await waitFor(async () => {
        const { body } = await reportOf(route, "versioned");
        return body.next.counts.ran === kinds.length ? body : null;
      });
      expect(next.counts).toMatchObject({ agreed: 1, disagreed: 4 });
      const differs = (what: string) =>
        expect.stringContaining(`differs from the current version in ${what}`);
      // Calls of isolated plugins may end in another order.
      const samples = next.samples.toSorted(
        (one: { request_id: string }, other: { request_id: string }) =>
          kinds.indexOf(other.request_id) - kinds.indexOf(one.request_id),
      );
      expect(samples).toMatchObject([
        {
          request_id: "fails",
          agrees: false,
          detail: differs("the failure, which only the current version has"),
        },
        { request_id: "respond", agrees: false, detail: differs("the response (403 and 404)") },
        { request_id: "body", agrees: false, detail: differs("the body") },
        { request_id: "header", agrees: false, detail: differs("the header x-version") },
      ]);
    },
  );

  test("is compared at the stages of the response", async () => {
    const route = await harness.seed([
      { name: "versioned", stage: "post_request" },
      { name: "versioned", stage: "pre_response" },
    ]);
    await (await harness.post(route)).text();
    await (await harness.post(route, { body: STREAMED_CHAT })).text();
    for (const entry of ["0", "1"]) {
      const { next } = await waitFor(async () => {
        const { body } = await reportOf(route, entry);
        return body.next.counts.ran === 2 ? body : null;
      });
      expect(next.counts).toMatchObject({ agreed: 2, disagreed: 0, changed: 2 });
    }
  });

  test("that rejects the settings does not run, and the report says why", async () => {
    const route = await harness.seed([{ name: "unsettled", stage: "pre_request" }]);
    expect((await harness.post(route)).status).toBe(200);
    const { next } = (await reportOf(route, "unsettled")).body;
    expect(next.problem).toContain("settings.needed");
    expect(next.counts.ran).toBe(0);
  });
});

describe("promote", () => {
  test("lets the plugin take effect, in a revision, if the version matches", async () => {
    const route = await harness.seed([
      shadowed("pre_request", `context.respond({ status: 418, body: "no" })`),
    ]);
    const path = `/gateways/${route.gateway}`;
    const before = (await harness.gatehouse.api("GET", path)).headers.get("etag") ?? "";
    expectError(
      await harness.gatehouse.api("POST", `${path}/plugins/scripted/promote`, undefined, {
        "If-Match": '"other"',
      }),
      412,
      "precondition_failed",
    );
    expect((await harness.post(route)).status).toBe(200);
    const revision = (await harness.gatehouse.api("GET", "/revisions?limit=1")).body.revisions[0].revision;
    const promoted = await harness.gatehouse.api("POST", `${path}/plugins/scripted/promote`, undefined, {
      "If-Match": before,
    });
    expect(promoted.status).toBe(200);
    expect(promoted.body.required_plugins[0].mode).toBe("enforce");
    expect((await harness.gatehouse.api("GET", "/revisions?limit=1")).body.revisions[0].revision).toBe(
      Number(revision) + 1,
    );
    expect((await harness.post(route)).status).toBe(418);
    expectError(
      await harness.gatehouse.api("POST", `${path}/plugins/scripted/promote`),
      409,
      "not_in_shadow_mode",
    );
  });

  test("names the entry: by name, by its only entry in shadow mode, or by position", async () => {
    const both = await harness.seed([scripted("pre_request", ""), shadowed("pre_request", "")]);
    expect((await reportOf(both)).body.position).toBe(1);
    const two = await harness.seed([shadowed("pre_request", ""), shadowed("post_request", "")]);
    expectError(await reportOf(two), 400, "bad_request");
    expect((await reportOf(two, "1")).body.stage).toBe("post_request");
    expectError(await reportOf(two, "2"), 404, "not_found");
    expectError(await reportOf(two, "unknown"), 404, "not_found");
    expectError(await harness.gatehouse.api("GET", "/gateways/unknown/plugins/x/shadow"), 404, "not_found");
  });
});
