// Serialized Java objects and gadget names in Base64.
import { exact, choice } from "../../combinators.ts";
import { atWordStart } from "../../look-behind.ts";
import type { Matcher } from "../../matcher.ts";
import { pattern, type Pattern } from "../../pattern.ts";
import { GADGETS } from "./names.ts";

/** The magic bytes `AC ED 00 05` of a serialized object in Base64, at each of the three offsets modulo 3. */
const serializedObject: Matcher = choice(exact("rO0ABQ"), exact("rO0ABX"), exact("KztAAU"), exact("Cs7QAF"));

/** Matches if the trigger that ends here has exactly this case: triggers ignore case, but Base64 does not. */
function exactTrigger(text: string): Matcher {
  const matcher = exact(text);
  return (input, at) => matcher(input, at - text.length);
}

/** Returns the Base64 of a name at each of the three offsets modulo 3: only the characters that depend on the name alone. */
function base64Forms(name: string): string[] {
  return [0, 1, 2].map((offset) => {
    const text = btoa("\0".repeat(offset) + name);
    const skipped = [0, 2, 3][offset] ?? 0;
    const kept = Math.floor(((offset + name.length) * 8) / 6);
    return text.slice(skipped, kept);
  });
}

const NAMES_IN_BASE64 = ["runtime", "processbuilder", ...GADGETS, "getproperty", "filewriter", "xmldecoder"];
const FORMS = NAMES_IN_BASE64.flatMap(base64Forms);
/** The texts of all patterns below: each of them finds one. */
const FORM_TEXTS = FORMS.map((text) => `x ${text}`);
const FORM_IGNORES = ["cnvudgltzq", "CNVUDGLTZQ", "the runtime"];

export const SERIALIZED: readonly Pattern[] = [
  pattern("java.serialised", ["ro0abq", "ro0abx", "kztaau", "cs7qaf"], {
    catches: "a serialized Java object in Base64",
    from: "relaxed",
    finds: ["rO0ABQ", "rO0ABXNy", "KztAAUx", "Cs7QAF"],
    ignores: ["ro0abq", "RO0ABX", "kztaaux", "cs7qaf", "xrO0ABQ"],
    before: atWordStart,
    after: (input, at) => serializedObject(input, at - 6),
  }),
  ...FORMS.map((text) =>
    pattern("java.base64-gadget", [text], {
      catches: "the name of a class that attacks use, in Base64",
      finds: FORM_TEXTS,
      ignores: FORM_IGNORES,
      after: exactTrigger(text),
    }),
  ),
];
