// The summary of the reasoning is removed from an encoded request for targets that may not request one.
import { expect, test } from "bun:test";
import fc from "fast-check";
import { isJsonObject } from "../../base/json.ts";
import { TranslationReport } from "../translation-report.ts";
import { responsesOutbound } from "./outbound.ts";

/** Texts and objects that look like the field. */
const LOOKALIKE = { reasoning: { effort: "low", summary: "auto" } };
const text = fc.oneof(fc.string({ unit: "grapheme" }), fc.constant(`,${JSON.stringify(LOOKALIKE)}`));
const request = fc.record(
  {
    model: fc.constantFrom("gpt-5.6", "o3", "my-deployment"),
    messages: fc.array(
      text.map((content) => ({ role: "user", content })),
      { minLength: 1, maxLength: 3 },
    ),
    thinking: fc.constantFrom({ type: "adaptive" }, { type: "enabled", budget_tokens: 9000 }),
    reasoning_effort: fc.constantFrom("low", "a}b", '","summary":"'),
    metadata: fc.constantFrom(LOOKALIKE, {}),
    tools: fc.constant([
      { type: "function", function: { name: "f", parameters: { properties: LOOKALIKE } } },
    ]),
    stream: fc.boolean(),
    user: text,
  },
  { requiredKeys: ["model", "messages", "thinking"] },
);

test("everything but the summary stays", () => {
  const { summary, encodeRequest } = responsesOutbound;
  fc.assert(
    fc.property(request, (given) => {
      const encoded = encodeRequest(given, { report: new TranslationReport(), targetTag: "t" });
      if (summary?.isIn(encoded) !== true) return;
      const body = Buffer.from(JSON.stringify(encoded));
      const removed: unknown = JSON.parse(Buffer.from(summary.remove(body)).toString());
      const expected: unknown = JSON.parse(body.toString());
      if (!isJsonObject(expected) || !isJsonObject(expected["reasoning"])) throw new Error("no reasoning");
      delete expected["reasoning"]["summary"];
      expect(removed).toEqual(expected);
    }),
    { numRuns: 500 },
  );
});
