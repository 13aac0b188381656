// Tokens and cost of a request as text.
import type { RequestRecord } from "../api/item-types.ts";

type Tokens = RequestRecord["tokens"];

export function describeTokens(tokens: NonNullable<Tokens>, format: (count: number) => string): string {
  const { input, output, cached_input, cache_write, reasoning, partial } = tokens;
  const whole = (count: number, name: string, parts: readonly (readonly [count: number, name: string])[]) => {
    const named = parts.filter(([each]) => each > 0).map(([each, label]) => `${format(each)} ${label}`);
    return `${format(count)} ${name}${named.length === 0 ? "" : ` (${named.join(", ")})`}`;
  };
  const texts = [
    whole(input, "input", [
      [cached_input, "cached"],
      [cache_write, "written to the cache"],
    ]),
    whole(output, "output", [[reasoning, "reasoning"]]),
  ];
  return [...texts, ...(partial ? ["incomplete"] : [])].join(", ");
}

/** Returns why a request has no cost. */
export function unknownCostReason(tokens: Tokens): string {
  return tokens === null || tokens.input + tokens.output === 0 ? "Tokens unknown" : "No price for this model";
}
