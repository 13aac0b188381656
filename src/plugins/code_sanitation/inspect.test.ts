// Tests of the work budget of an inspection, and of what happens if a worker thread fails.
import { describe, expect, test } from "bun:test";
import { definePlugin, LARGE_BODY_BYTES, OffLoopError, type PluginHost } from "../../sdk/index.ts";
import { sourcesOf } from "../../../test/support/sources.ts";
import { testPlugin, type PluginTest } from "../../sdk/testing.ts";
import { compileDetector } from "./detector.ts";
import { inspectBody } from "./inspect-body.ts";
import { roleSetOf } from "./json-roles.ts";
import { codeSanitation } from "./plugin.ts";
import { LANGUAGES } from "./settings.ts";
import { stepsFor, WorkExhausted } from "./work-budget.ts";

/** Takes many steps per unit and is not found. */
const HOSTILE = "${";
const PROSE = `Please read the report below (about 200 words) & summarize it; "costs = price * days" isn't enough. `;
const repeatTo = (piece: string, length: number) =>
  piece.repeat(Math.ceil(length / piece.length)).slice(0, length);

function open(settings: Record<string, unknown>, runOffLoop?: PluginHost["runOffLoop"]): PluginTest {
  const plugin = definePlugin({
    ...codeSanitation,
    create: (parsed: Parameters<typeof codeSanitation.create>[0], host) =>
      codeSanitation.create(parsed, runOffLoop === undefined ? host : { ...host, runOffLoop }),
  });
  return testPlugin(plugin, {
    languages: LANGUAGES.map((language) => ({ language })),
    content_to_check: ["all"],
    action: "block",
    ...settings,
  });
}

/** Fails the test if a task is started. */
const noTask: PluginHost["runOffLoop"] = () => Promise.reject(new Error("a task was started"));

test("prose of 256 kB is inspected on the event loop", async () => {
  const plugin = open({}, noTask);
  const { response } = await plugin.preRequest({ body: repeatTo(PROSE, LARGE_BODY_BYTES) });
  expect(response).toBeNull();
});

test("a larger body is inspected in a thread", async () => {
  const inspected: unknown[] = [];
  const plugin = open({}, ((_: URL, input: unknown) => {
    inspected.push(input);
    return Promise.resolve({ verdict: { kind: "clean" }, found: [] });
  }) as PluginHost["runOffLoop"]);
  expect((await plugin.preRequest({ body: repeatTo(PROSE, LARGE_BODY_BYTES + 1) })).response).toBeNull();
  expect(inspected).toMatchObject([
    { patterns: LANGUAGES.map((language) => ({ language })), mask: null, roles: null, isJson: false },
  ]);
});

test("a body that takes too much work is incomplete at once: a thread has no larger budget", async () => {
  const plugin = open({ action: "sanitize" }, noTask);
  const { response } = await plugin.preRequest({ body: JSON.stringify(repeatTo(HOSTILE, 100_000)) });
  expect(response).toMatchObject({ status: 400, body: { code: "inspection_incomplete" } });
});

test("bodies that arrive in the same turn share the work of the event loop", async () => {
  let tasks = 0;
  const plugin = open({ action: "sanitize" }, (() => {
    tasks++;
    return Promise.resolve({ verdict: { kind: "clean" }, found: [] });
  }) as PluginHost["runOffLoop"]);
  await plugin.preRequest({ body: "warm" });
  const prose = repeatTo(PROSE, 200_000);
  // Each takes less than the limit of one inspection, but 30 of them take more than that of a turn.
  await Promise.all(Array.from({ length: 30 }, () => plugin.preRequest({ body: prose })));
  expect(tasks).toBeGreaterThan(0);
  tasks = 0;
  await new Promise((resolve) => setImmediate(resolve));
  await plugin.preRequest({ body: prose });
  expect(tasks).toBe(0);
});

test("the budget of the event loop also applies to the path and the query", async () => {
  const plugin = open({ action: "sanitize" });
  const { response } = await plugin.preRequest({ query: `?q=${repeatTo("'||'", 60_000)}` });
  expect(response).toMatchObject({ status: 400, body: { code: "inspection_incomplete" } });
  expect(plugin.counted).toMatchObject({ "incomplete budget": 1 });
});

test("with continue, a header that exhausts the budget does not switch the inspection of the body off", async () => {
  const plugin = open({ action: "sanitize", on_incomplete: "continue" });
  const headers = { "x-note": repeatTo(HOSTILE, 60_000) };
  const { body, response } = await plugin.preRequest({ headers, body: "eval(x)" });
  expect(response).toBeNull();
  expect(body).not.toContain("eval");
  expect(plugin.details[0]).toMatch(/^found .*; inspection incomplete \(budget\), continued$/);
});

test("the status of an incomplete inspection is that of a block; what was found before is reported", async () => {
  const plugin = open({ action: "sanitize", status_code: 451 });
  const body = repeatTo("eval(x) ", 1000) + repeatTo(HOSTILE, 400_000);
  const { response } = await plugin.preRequest({ body });
  expect(response).toMatchObject({ status: 451, body: { code: "inspection_incomplete" } });
  expect(plugin.details[0]).toMatch(/inspection incomplete \(budget\), blocked$/);
});

describe("a thread that", () => {
  const body = repeatTo(PROSE, LARGE_BODY_BYTES + 1);
  const failing = (reason: ConstructorParameters<typeof OffLoopError>[0]) => () =>
    Promise.reject(new OffLoopError(reason, reason));

  test.each([
    ["timed_out", "timeout"],
    ["crashed", "crash"],
  ] as const)("%s makes the inspection incomplete", async (reason, kind) => {
    const blocking = open({}, failing(reason));
    expect((await blocking.preRequest({ body })).response).toMatchObject({
      status: 400,
      body: { code: "inspection_incomplete" },
    });
    expect(blocking.counted).toEqual({ [`incomplete ${kind}`]: 1 });
    const continuing = open({ on_incomplete: "continue" }, failing(reason));
    const continued = await continuing.preRequest({ body });
    expect(continued.response).toBeNull();
    expect(continued.body).toBe(body);
    expect(continuing.details).toEqual([`inspection incomplete (${kind}), continued`]);
  });

  test.each(["overloaded", "closed"] as const)(
    "is not available (%s) is 503, also with continue",
    async (reason) => {
      const plugin = open({ on_incomplete: "continue" }, failing(reason));
      const { response, responseHeaders } = await plugin.preRequest({ body });
      expect(response).toMatchObject({ status: 503, body: { code: "overloaded" } });
      expect(responseHeaders).toEqual({ "Retry-After": "1" });
    },
  );
});

test("a scan stops soon after its limit, whatever the text", () => {
  const work = { steps: 0, limit: Infinity };
  const detector = compileDetector(LANGUAGES, work);
  for (const piece of [HOSTILE, "' ||", "`", "${", "%25", "eval(x)id;"]) {
    const scan = () => detector.findAll(repeatTo(piece, 200_000));
    expect(() => detector.limitWork(100_000, scan)).toThrow(WorkExhausted);
    // Reading the whole text counts before it is scanned.
    expect(work.steps).toBeLessThan(100_000 + 2 * 200_000 + 5000);
  }
  expect(detector.first("eval(x)")).not.toBeNull();
});

test("the budget is enough for more than the work of prose with punctuation, and of this repository's sources", () => {
  const work = { steps: 0, limit: Infinity };
  const detector = compileDetector(
    LANGUAGES.map((language) => ({ language })),
    work,
  );
  detector.findAll(repeatTo(PROSE, 1_000_000));
  expect(stepsFor(1_000_000)).toBeGreaterThan(work.steps * 1.5);
  work.steps = 0;
  const sources = sourcesOf("src");
  detector.findAll(sources);
  expect(stepsFor(sources.length)).toBeGreaterThan(work.steps * 1.5);
});

test("finding the messages of a role counts as work", () => {
  const work = { steps: 0, limit: Infinity };
  const detector = compileDetector(["sql"], work);
  const messages = Array.from({ length: 1000 }, () => ({ n: 1 }));
  const body = {
    bodyText: JSON.stringify({ messages }),
    body: null,
    isJson: true,
    headers: new Headers(),
  };
  const stepsWith = (roles: number | null) => {
    work.steps = 0;
    inspectBody(body, detector, null, { roles, onFound: () => undefined });
    return work.steps;
  };
  expect(stepsWith(roleSetOf(["user"]))).toBeGreaterThan(stepsWith(null) + 10_000);
  const inspect = () =>
    inspectBody(body, detector, "X", { roles: roleSetOf(["user"]), onFound: () => undefined });
  expect(() => detector.limitWork(1000, inspect)).toThrow(WorkExhausted);
});
