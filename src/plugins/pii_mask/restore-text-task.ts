// Restores the values in a large text in a worker thread.
import { MaskedValues, type ValueTable } from "./masked-values.ts";
import { restore, type Restored } from "./placeholders.ts";

interface Input {
  readonly text: string;
  readonly values: readonly ValueTable[];
  readonly isJson: boolean;
  readonly isComplete: boolean;
}

export function run({ text, values, isJson, isComplete }: Input): Restored {
  return restore(text, new MaskedValues(values), isJson, isComplete);
}
