// Price lists in the order in which they are searched, and price rows as the form edits them.
import type { Price } from "../api/types.ts";

/** A price while it is edited: every field may still be absent. */
export type PriceRow = Partial<Omit<Price, "above">> & {
  readonly above?: Partial<NonNullable<Price["above"]>>;
};

type Source = "gateway" | "installation" | "builtin";

export const SOURCES: Readonly<Record<Source, { readonly title: string; readonly of: string }>> = {
  gateway: { title: "This gateway", of: "of this gateway" },
  installation: { title: "Installation", of: "of the installation" },
  builtin: { title: "Built-in", of: "built into the gateway" },
};

/** One of the lists, in the order in which they are searched. */
export interface PriceList {
  readonly source: Source;
  readonly prices: readonly PriceRow[];
}

export interface PriceInList {
  readonly source: Source;
  readonly price: PriceRow;
  /** An earlier price of the same list that matches every model of this one, which is therefore never used. */
  readonly shadowedBy: string | null;
}

/** Whether a model, or a pattern such as `gpt-*`, matches only what `pattern` matches. */
export function covers(pattern: string, model: string): boolean {
  return pattern.endsWith("*") ? model.startsWith(pattern.slice(0, -1)) : pattern === model;
}

export function rowsOf({ source, prices }: PriceList): readonly PriceInList[] {
  return prices.map((price, index) => {
    const before = prices.slice(0, index);
    const shadow = before.find(({ model = "" }) => covers(model, price.model ?? ""));
    return { source, price, shadowedBy: shadow?.model ?? null };
  });
}

interface Match {
  readonly source: Source;
  readonly price: PriceRow;
}

/** Returns the first match of each list. The first of them is in effect. */
export function matchesOf(lists: readonly PriceList[], model: string): readonly Match[] {
  return lists.flatMap(({ source, prices }) => {
    const price = prices.find((each) => covers(each.model ?? "", model));
    return price === undefined ? [] : [{ source, price }];
  });
}

/** Adds a price before the first one that would hide it. More specific ones stay before it. */
export function withPrice(prices: readonly PriceRow[], added: PriceRow): readonly PriceRow[] {
  const found = prices.findIndex(
    ({ model = "" }) => model !== added.model && covers(model, added.model ?? ""),
  );
  const index = found < 0 ? prices.length : found;
  return [...prices.slice(0, index), added, ...prices.slice(index)];
}

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
