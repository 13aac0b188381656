// Redaction removes every secret with a known shape, wherever it occurs in a line, and nothing else.
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { newApiKey } from "../../base/ids.ts";
import { createLog } from "./log.ts";
import { redact } from "./redact.ts";

const TOKEN = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhZG1pbiJ9.c2lnbmF0dXJlLXNpZ25hdHVyZQ";
const PROVIDER_KEY = "sk-proj-AbCd_0123456789";
const SECRETS = {
  "an API key": [newApiKey(), (secret: string) => secret],
  "a bearer token": ["opaque.Token~0/+==", (secret: string) => `Bearer ${secret}`],
  "a lower-case bearer token": ["opaque-token-123", (secret: string) => `bearer ${secret}`],
  "basic credentials": ["dXNlcjpwYXNzd29yZA==", (secret: string) => `Basic ${secret}`],
  "an admin token": [TOKEN, (secret: string) => secret],
  "a provider's key": [PROVIDER_KEY, (secret: string) => secret],
  "a Google key": ["AIzaSyA0123456789-abcdefghijklmnopqrstu", (secret: string) => secret],
  "a Groq key": ["gsk_0123456789abcdefghijABCDEFGHIJ", (secret: string) => secret],
  "a Hugging Face token": ["hf_0123456789abcdefghijABCDEFGHIJ", (secret: string) => secret],
  "an xAI key": ["xai-0123456789abcdefghij_ABCDEFGHIJ", (secret: string) => secret],
  "a URL's password": [
    "hunter2-hunter2",
    (secret: string) => `postgres://admin:${secret}@db.example:5432/gatehouse`,
  ],
} as const;

describe("redact", () => {
  for (const [what, [secret, wrap]] of Object.entries(SECRETS)) {
    test(`removes every occurrence of ${what} in a line`, () => {
      const surroundings = fc.string({
        unit: fc.constantFrom(" ", '"', ":", ",", "{", "}", "=", "/", "x ", "("),
      });
      fc.assert(
        fc.property(surroundings, surroundings, (before, after) => {
          const line = `${before} ${wrap(secret)}"${after}" ${wrap(secret)} ${after}`;
          expect(redact(line)).not.toContain(secret);
          expect(redact(line)).toContain("***");
        }),
      );
    });
  }

  test("leaves other text unchanged", () => {
    for (const line of [
      '{"level":"info","url":"http://127.0.0.1:8080","msg":"Admin API listening"}',
      '{"id":"01890a5d-ac96-774b-bcce-b302099a8057","prefix":"gw_AbCdEf","ms":1.25}',
      "a bearer, a risk-taking desk-bound thing",
      "https://user@host.example/path?time=12:30@noon",
      "gw_short eyJust-a-word sk-short AIza-short gsk_short hf_model_name xai-grok",
    ]) {
      expect(redact(line)).toBe(line);
    }
  });

  test("applies to every line of a JSON log: messages, fields, nested fields, errors and their causes", () => {
    const lines: string[] = [];
    const log = createLog({ level: "trace", format: "json" }, { write: (line) => void lines.push(line) });
    const key = newApiKey();
    log.trace(`message ${key}`);
    log.info({ key, nested: { deep: [{ Authorization: `Bearer ${PROVIDER_KEY}` }] } }, "fields");
    log.error({ err: new Error(`failed with ${key}`, { cause: new Error(TOKEN) }) }, "error");
    log.child({ token: TOKEN }).warn({ url: "redis://:hunter2-hunter2@cache:6379" }, "child");
    expect(lines).toHaveLength(4);
    for (const line of lines) {
      for (const secret of [key, PROVIDER_KEY, TOKEN, "hunter2"]) expect(line).not.toContain(secret);
      JSON.parse(line);
    }
  });

  test("a log line is valid JSON for any field values", () => {
    const lines: string[] = [];
    const log = createLog({ level: "info", format: "json" }, { write: (line) => void lines.push(line) });
    const circle: Record<string, unknown> = { big: 1n };
    circle["self"] = circle;
    for (const fields of [circle, { toJSON: () => "text", a: 1 }, { toJSON: () => undefined }, { big: 2n }])
      log.info(fields, "odd");
    expect(lines.map((line) => (JSON.parse(line) as { msg: string }).msg)).toEqual([
      "odd",
      "odd",
      "odd",
      "odd",
    ]);
  });

  test("applies to every line of a pretty log, also directly after a color code", () => {
    const lines: string[] = [];
    const log = createLog({ level: "trace", format: "pretty" }, { write: (line) => void lines.push(line) });
    const key = newApiKey();
    log.info({ key, provider_key: PROVIDER_KEY, token: TOKEN, header: `Bearer opaque-token-123` }, "fields");
    for (const secret of [key, PROVIDER_KEY, TOKEN, "opaque-token-123"]) {
      expect(lines.join("")).not.toContain(secret);
    }
  });

  test("removes a secret after a line break, which JSON writes as \\n", () => {
    for (const secret of [PROVIDER_KEY, TOKEN, `Bearer opaque-token-123`]) {
      const line = redact(JSON.stringify({ stack: `Error: rejected\n${secret}\n\t${secret}` }));
      expect(line).not.toContain(secret);
    }
  });

  test("takes linear time: a quadratic pattern would not finish on these texts", () => {
    for (const piece of [
      "z",
      "eyJ-",
      "sk-",
      "AIza",
      "gsk_",
      "hf_",
      "xai-",
      "Bearer ",
      "a://b:",
      "a:",
      "gw_",
    ]) {
      const text = piece.repeat(400_000 / piece.length);
      expect(redact(text).length).toBeLessThanOrEqual(text.length);
    }
  });

  test("removes a password that contains an @", () => {
    expect(redact("postgres://admin:pa@ss@db.example/gatehouse")).toBe(
      "postgres://admin:***@db.example/gatehouse",
    );
  });
});
