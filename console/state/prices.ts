// Price rows as the form edits them.
import type { Price } from "../api/types.ts";

/** A price while it is edited: every field may still be absent. */
export type PriceRow = Partial<Omit<Price, "above">> & {
  readonly above?: Partial<NonNullable<Price["above"]>>;
};

/** Replaces the deprecated fields, which are numbers, by the ones that the form has. */
export function withDecimals({ input_per_million, output_per_million, ...price }: Price): PriceRow {
  return {
    ...price,
    ...(input_per_million !== undefined && { input: String(input_per_million) }),
    ...(output_per_million !== undefined && { output: String(output_per_million) }),
  };
}

/** Removes fields that were emptied, and `above` if all its fields were. */
export function compactRow(row: PriceRow): PriceRow {
  const { above, ...fields } = withoutUndefined(row);
  const tier = above === undefined ? {} : withoutUndefined(above);
  return { ...fields, ...(Object.keys(tier).length > 0 && { above: tier }) };
}

function withoutUndefined<T extends object>(record: T): T {
  return Object.fromEntries(Object.entries(record).filter(([, value]) => value !== undefined)) as T;
}
