// Access log lines are valid JSON for any names that clients and operators choose, and contain no secret.
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { writeAccessLog } from "./access-log.ts";
import { createLog } from "./log.ts";
import { operationOf } from "../requests/request-operation.ts";
import { requestFacts, servedBy } from "../requests/request-facts.fixture.ts";
import type { RequestFacts } from "../requests/request-facts.ts";
import { anyCharacter, grapheme } from "../../../test/support/characters.ts";

function lineOf(fields: Partial<RequestFacts>, level = "info"): string {
  const lines: string[] = [];
  const log = createLog({ level, format: "json" }, { write: (line) => void lines.push(line) });
  writeAccessLog(log, requestFacts(fields));
  return lines.join("");
}

describe("access log line", () => {
  test("contains the fields of a request that was served", () => {
    const translation = { from: "anthropic", to: "openai", dropped: ["top_k"] } as const;
    const finalAttempt = servedBy(1, { model: "m", firstByteAt: 1015.256, translation });
    const line = lineOf({
      operation: "messages",
      finalAttempt,
      attempts: [servedBy(0), finalAttempt],
      apiKeyName: "key",
      firstTokenAt: 1120.126,
      endedAt: 1234.5678,
    });
    expect(JSON.parse(line)).toEqual({
      level: "info",
      time: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/) as string,
      plane: "proxy",
      request_id: "id",
      method: "POST",
      path: "/p",
      operation: "messages",
      status: 200,
      outcome: "complete",
      gateway: "g",
      rule: "rule-1",
      api_key: "key",
      provider: "two",
      model: "m",
      translation: "anthropic->openai",
      attempts: 2,
      ms: 234.57,
      first_byte_ms: 5.26,
      first_token_ms: 120.13,
      msg: "request",
    });
  });

  test("contains the tokens, and the cost where the price is known", () => {
    const tokens = { input: 12, output: 340, cachedInput: 0, cacheWrite: 0, reasoning: 0, isPartial: false };
    const counted: unknown = JSON.parse(lineOf({ tokens, cost: 0.0012 }));
    expect(counted).toMatchObject({ input_tokens: 12, output_tokens: 340, cost: 0.0012 });
    const unpriced = JSON.parse(lineOf({ tokens, cost: null })) as object;
    expect(unpriced).toMatchObject({ input_tokens: 12, output_tokens: 340 });
    expect(Object.keys(unpriced)).not.toContain("cost");
  });

  test("omits fields without a value", () => {
    const line = lineOf({ gatewayName: null, rule: null, outcome: "failed", status: 404 });
    expect(Object.keys(JSON.parse(line) as object)).toEqual([
      "level",
      "time",
      "plane",
      "request_id",
      "method",
      "path",
      "status",
      "outcome",
      "attempts",
      "ms",
      "msg",
    ]);
  });

  test("is JSON with unchanged names, whatever the names are", () => {
    fc.assert(
      fc.property(fc.string({ unit: grapheme }), fc.string({ unit: anyCharacter }), (path, name) => {
        const finalAttempt = servedBy(0, { model: name });
        const line = lineOf({ path, method: path, gatewayName: name, apiKeyName: name, finalAttempt });
        const fields = JSON.parse(line) as Record<string, unknown>;
        expect(fields).toMatchObject({ path, method: path, gateway: name, api_key: name, model: name });
      }),
    );
  });

  test("contains no secret, also when the name is cached", () => {
    const secret = "sk-proj-AbCd_0123456789";
    const finalAttempt = servedBy(0, { model: secret });
    for (let times = 0; times < 2; times++) {
      const line = lineOf({
        requestId: secret,
        path: `/v1/${secret}`,
        gatewayName: secret,
        apiKeyName: `Bearer ${secret}`,
        finalAttempt,
      });
      expect(line).not.toContain("AbCd");
      expect(JSON.parse(line)).toMatchObject({ request_id: "sk-***", path: "/v1/sk-***", model: "sk-***" });
    }
  });

  test("is correct for more names than are cached", () => {
    for (let index = 0; index < 2500; index++)
      expect(JSON.parse(lineOf({ path: `/${index % 1700}` }))).toMatchObject({ path: `/${index % 1700}` });
  });

  test("equals what JSON.stringify returns, for any facts and whatever the line before was", () => {
    const name = fc.string({ unit: anyCharacter, maxLength: 8 });
    const moment = fc.tuple(fc.nat(), fc.nat(999)).map(([ms, part]) => ms + part / 1000);
    const count = fc.oneof(fc.nat(), fc.maxSafeNat());
    const anyFacts = fc.record({
      requestId: fc.oneof(fc.uuid(), fc.constantFrom("id", "a/b@c")),
      path: name,
      gatewayName: fc.option(name),
      apiKeyName: fc.option(name),
      model: fc.option(name),
      mirrorOf: fc.option(fc.uuid()),
      status: fc.integer({ min: 100, max: 599 }),
      fault: fc.constantFrom(null, "error_status"),
      endedWallMs: fc.nat(),
      startedAt: moment,
      duration: moment,
      firstByteMs: fc.option(moment),
      firstTokenAt: fc.option(moment),
      tokens: fc.option(fc.tuple(count, count)),
      cost: fc.option(
        fc.oneof(
          fc.nat().map((nanos) => nanos / 1e9),
          fc.constantFrom(0, 1e-9, 12.5, 1e21),
        ),
      ),
      hasAttempt: fc.boolean(),
      bindings: fc.constantFrom({}, { worker: 3 }, { node: "é😀" }),
    });
    type AnyFacts = typeof anyFacts extends fc.Arbitrary<infer T> ? T : never;
    const lines: string[] = [];
    const log = createLog({ level: "info", format: "json" }, { write: (line) => void lines.push(line) });
    const round = (ms: number) => Math.round(ms * 100) / 100;
    const check = (given: AnyFacts) => {
      const { requestId, path, gatewayName, apiKeyName, model, mirrorOf, status, fault, startedAt } = given;
      const { endedWallMs, duration, firstByteMs, firstTokenAt, tokens: counts, cost, bindings } = given;
      const endedAt = startedAt + duration;
      const firstByteAt = firstByteMs === null ? null : 1010 + firstByteMs;
      const attempt = given.hasAttempt ? servedBy(0, { model, firstByteAt }) : null;
      const attempts = attempt === null ? [] : [attempt];
      const [input = 0, output = 0] = counts ?? [];
      const tokens = { input, output, cachedInput: 0, cacheWrite: 0, reasoning: 0, isPartial: false };
      const facts = requestFacts({
        ...{
          requestId,
          path,
          gatewayName,
          apiKeyName,
          mirrorOf,
          status,
          fault,
          startedAt,
          endedAt,
          endedWallMs,
        },
        ...{ firstTokenAt, cost, attempts, finalAttempt: attempt, tokens: counts === null ? null : tokens },
      });
      writeAccessLog(log.child(bindings), facts);
      const operation = operationOf(facts);
      const expected = {
        level: "info",
        time: new Date(endedWallMs).toISOString(),
        ...bindings,
        plane: "proxy",
        request_id: requestId,
        method: facts.method,
        path,
        ...(mirrorOf !== null && { mirror_of: mirrorOf }),
        ...(operation !== null && { operation }),
        status,
        outcome: facts.outcome,
        ...(gatewayName !== null && { gateway: gatewayName }),
        ...(facts.rule !== null && { rule: facts.rule.names.rule.id }),
        ...(apiKeyName !== null && { api_key: apiKeyName }),
        ...(attempt !== null && { provider: attempt.target.provider }),
        ...(attempt !== null && model !== null && { model }),
        ...(fault !== null && { fault }),
        attempts: attempts.length,
        ms: round(endedAt - startedAt),
        ...(attempt !== null &&
          firstByteAt !== null && { first_byte_ms: round(firstByteAt - attempt.startedAt) }),
        ...(firstTokenAt !== null && { first_token_ms: round(firstTokenAt - startedAt) }),
        ...(counts !== null && { input_tokens: input, output_tokens: output }),
        ...(cost !== null && { cost }),
        msg: mirrorOf === null ? "request" : "mirrored request",
      };
      expect(lines.splice(0).join("")).toBe(`${JSON.stringify(expected)}\n`);
    };
    fc.assert(
      fc.property(fc.array(anyFacts, { minLength: 1, maxLength: 4 }), (all) => all.forEach(check)),
      {
        numRuns: 300,
      },
    );
  });

  test("is not written when the log level is above info", () => {
    expect(lineOf({}, "warn")).toBe("");
  });
});
