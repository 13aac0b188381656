// Access lines: JSON whatever a client or an operator calls things, and no secret among the names.
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { writeAccessLog } from "./access-log.ts";
import { createLog } from "./log.ts";
import { requestFacts, servedBy } from "../requests/request-facts.fixture.ts";
import type { RequestFacts } from "../requests/request-facts.ts";

function lineOf(fields: Partial<RequestFacts>, level = "info"): string {
  const lines: string[] = [];
  const log = createLog({ level, format: "json" }, { write: (line) => void lines.push(line) });
  writeAccessLog(log, requestFacts(fields));
  return lines.join("");
}

describe("the access line", () => {
  test("tells what is known of a request that was answered", () => {
    const answeredBy = servedBy(1, { model: "m", firstByteAt: 1015.256 });
    const line = lineOf({
      answeredBy,
      attempts: [servedBy(0), answeredBy],
      apiKeyName: "key",
      endedAt: 1234.5678,
    });
    expect(JSON.parse(line)).toEqual({
      level: "info",
      time: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/) as string,
      plane: "proxy",
      request_id: "id",
      method: "POST",
      path: "/p",
      status: 200,
      outcome: "complete",
      gateway: "g",
      rule: "rule-1",
      api_key: "key",
      provider: "two",
      model: "m",
      attempts: 2,
      ms: 234.57,
      first_byte_ms: 5.26,
      msg: "request",
    });
  });

  test("leaves out what there is not", () => {
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

  test("is JSON whatever things are called, and tells them as they are called", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme" }), fc.string({ unit: "binary" }), (path, name) => {
        const answeredBy = servedBy(0, { model: name });
        const line = lineOf({ path, method: path, gatewayName: name, apiKeyName: name, answeredBy });
        const told = JSON.parse(line) as Record<string, unknown>;
        expect(told).toMatchObject({ path, method: path, gateway: name, api_key: name, model: name });
      }),
    );
  });

  test("holds no secret, however often it is written", () => {
    const secret = "sk-proj-AbCd_0123456789";
    const answeredBy = servedBy(0, { model: secret });
    for (let times = 0; times < 2; times++) {
      const line = lineOf({
        requestId: secret,
        path: `/v1/${secret}`,
        gatewayName: secret,
        apiKeyName: `Bearer ${secret}`,
        answeredBy,
      });
      expect(line).not.toContain("AbCd");
      expect(JSON.parse(line)).toMatchObject({ request_id: "sk-***", path: "/v1/sk-***", model: "sk-***" });
    }
  });

  test("is right for more names than are remembered", () => {
    for (let index = 0; index < 2500; index++)
      expect(JSON.parse(lineOf({ path: `/${index % 1700}` }))).toMatchObject({ path: `/${index % 1700}` });
  });

  test("is not written where the level is higher", () => {
    expect(lineOf({}, "warn")).toBe("");
  });
});
