// The labels of an API key in the form in which usage is stored.
import { sha256 } from "../base/sha256.ts";

export interface LabelSet {
  /** Identifies the labels; empty if there are none. Shorter than the labels: PostgreSQL limits the size of a key. */
  readonly id: string;
  /** The labels as JSON. */
  readonly json: string;
}

export const NO_LABELS: LabelSet = { id: "", json: "{}" };

/** The labels are sorted by name, so that equal labels have the same id. */
export function labelSetOf(labels: Readonly<Record<string, string>>): LabelSet {
  const json = JSON.stringify(labels);
  return json === NO_LABELS.json ? NO_LABELS : { id: sha256(json), json };
}
