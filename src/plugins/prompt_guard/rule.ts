// The form of a rule, and the words that several rules have in common.
import type { Phrase, Slot } from "./phrases.ts";
import type { RuleId } from "./settings.ts";

export interface Rule {
  readonly id: RuleId;
  /** The scores of the rules that match a message are added. */
  readonly score: number;
  readonly catches: string;
  /** Alternatives. */
  readonly phrases?: readonly Phrase[];
  /** For what is no sequence of words. Quantifiers are bounded: the text is the client's. */
  readonly pattern?: RegExp;
  /** What hides text. Such a rule matches if the text is hidden like this, or, for encodings, if it also has a finding. */
  readonly hidden?: "invisible" | "tag_characters" | "variation_selectors" | "base64" | "hex";
  readonly finds: string;
  readonly ignores: readonly string[];
}

export const OVERRIDE =
  "ignore disregard forget override bypass neglect discard dismiss ignoring disregarding";
export const EARLIER =
  "previous prior above earlier preceding foregoing existing original system initial your";
export const ORDERS =
  "instructions instruction directions prompt prompts rules directives directive guidelines commands programming orders constraints restrictions policies";

export const slot = (words: string, gap = 0): Slot => ({ words, gap });
export const phrase = (...slots: Slot[]): Phrase => ({ slots });
export const negatable = (...slots: Slot[]): Phrase => ({ slots, isNegatable: true });
