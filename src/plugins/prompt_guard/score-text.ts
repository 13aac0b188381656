// Finds the rules that a text matches, and adds their scores.
import { readHidden } from "./hidden-text.ts";
import { PhraseTable } from "./phrases.ts";
import type { Rule } from "./rule.ts";
import type { RuleId } from "./settings.ts";

interface Scored {
  readonly score: number;
  /** In the order of the rules. */
  readonly rules: readonly RuleId[];
}

const NO_SCORE: Scored = { score: 0, rules: [] };

/** Compiles rules to a function whose work is linear in the length of the text. */
export function compileRules(rules: readonly Rule[]): (text: string) => Scored {
  const table = new PhraseTable(
    rules.flatMap(({ id, phrases = [] }) => phrases.map((phrase) => ({ id, phrase }))),
  );
  const patterns = rules.flatMap(({ id, pattern }) => (pattern === undefined ? [] : [{ id, pattern }]));
  const hiding = new Map(rules.flatMap(({ id, hidden }) => (hidden === undefined ? [] : [[hidden, id]])));

  const findPlain = (text: string, found: Set<RuleId>): void => {
    table.find(text, found);
    for (const { id, pattern } of patterns) if (pattern.test(text)) found.add(id);
  };
  return (text) => {
    const found = new Set<RuleId>();
    const { text: readable, decoded, hasInvisible } = readHidden(text);
    findPlain(readable, found);
    const invisible = hiding.get("invisible");
    if (hasInvisible && invisible !== undefined) found.add(invisible);
    for (const { from, text: inner } of decoded) {
      const id = hiding.get(from);
      if (id === undefined) continue;
      const within = new Set<RuleId>();
      findPlain(inner, within);
      // Base64 and hex are common in harmless texts; characters that are not displayed are not.
      const isEncoding = from === "base64" || from === "hex";
      if (isEncoding && within.size === 0) continue;
      found.add(id);
      for (const each of within) found.add(each);
    }
    if (found.size === 0) return NO_SCORE;
    const matched = rules.filter(({ id }) => found.has(id));
    return { score: matched.reduce((sum, { score }) => sum + score, 0), rules: matched.map(({ id }) => id) };
  };
}
