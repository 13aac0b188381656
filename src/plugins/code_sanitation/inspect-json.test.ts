// Tests of the inspection of a JSON body in its bytes: the result, the findings and the work are those of its text.
import { expect, test } from "bun:test";
import fc from "fast-check";
import { compileDetector } from "./detector.ts";
import { roleSetOf, type RoleSet } from "./json-roles.ts";
import { inspectAndRecordBody } from "./record-body.ts";
import { RecordingDetector } from "./recording-detector.ts";
import { LANGUAGES, ROLES } from "./settings.ts";
import { WorkExhausted } from "./work-budget.ts";
import { runs } from "../../../test/support/long-form.ts";

const detector = compileDetector(LANGUAGES);
const headers = new Headers();

/** The result of an inspection, and the work that it took. */
function inspect(
  text: string,
  mask: string | null,
  roles: RoleSet | null,
  inBytes: boolean,
  limit = Infinity,
) {
  const recorder = new RecordingDetector(detector);
  const bytes = Buffer.from(text);
  const bodyText = new TextDecoder().decode(bytes);
  const body = { body: bytes, bodyText, isJson: true, headers, ...(inBytes && { bodyView: bytes }) };
  let verdict: unknown = "incomplete";
  try {
    verdict = recorder.limitWork(limit, () => inspectAndRecordBody(body, recorder, mask, roles));
  } catch (error) {
    if (!(error instanceof WorkExhausted)) throw error;
  }
  return { verdict, details: recorder.details, work: recorder.workDone };
}

const piece = fc.constantFrom(
  "Please read the report, it's due on Monday. ",
  "role",
  "user",
  "é",
  "\u{1f600}",
  '"quoted"',
  "line\nline\\",
  "\ud800",
  "<script>",
  "1 UNION SELECT 2",
  "x' or 'a'='a",
);
const text = fc.array(piece, { maxLength: 12 }).map((pieces) => pieces.join(""));
const message = fc.record({ role: fc.constantFrom(...ROLES, "é"), content: fc.oneof(text, fc.array(text)) });
const body = fc.record({ model: fc.constant("m"), messages: fc.array(message), note: text });
const roles = fc.option(fc.subarray([...ROLES], { minLength: 1 }).map(roleSetOf), { nil: null });
const mask = fc.constantFrom(null, "X", ";");

test("equals the inspection of the text, for any body, roles and action", () => {
  fc.assert(
    fc.property(body, mask, roles, fc.nat(2), fc.boolean(), (value, char, set, indent, hasMark) => {
      const json = `${hasMark ? "\ufeff" : ""}${JSON.stringify(value, null, indent)}`;
      const expected = inspect(json, char, set, false);
      const { work, ...actual } = inspect(json, char, set, true);
      expect(actual).toEqual({ verdict: expected.verdict, details: expected.details });
      // With roles, the bytes of the body count instead of its characters.
      if (set === null || json.length === Buffer.byteLength(json)) expect(work).toBe(expected.work);
    }),
    { numRuns: runs({ short: 300, long: 1500 }) },
  );
});

test("equals the inspection of the text for text that is not JSON", () => {
  const unit = fc.constantFrom(...Array.from('{}[]":,\\a 1u\n'), "<script>", "role", "messages");
  fc.assert(
    fc.property(fc.array(unit, { maxLength: 40 }), mask, roles, (units, char, set) => {
      const json = units.join("");
      const { verdict, details } = inspect(json, char, set, false);
      expect(inspect(json, char, set, true)).toMatchObject({ verdict, details });
    }),
    { numRuns: runs({ short: 600, long: 3000 }) },
  );
});

test("equals the inspection of the text with any limit of the work", () => {
  fc.assert(
    fc.property(body, mask, fc.integer({ min: 1, max: 3000 }), (value, char, limit) => {
      const json = JSON.stringify(value);
      expect(inspect(json, char, null, true, limit)).toEqual(inspect(json, char, null, false, limit));
    }),
    { numRuns: runs({ short: 200, long: 1000 }) },
  );
});
