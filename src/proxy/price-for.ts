// The price of a model for a request.
import type { CompiledPrice } from "../usage/compiled-price.ts";
import type { PriceTable } from "../usage/price-table.ts";

/** The prices of a request. */
export interface PricedExchange {
  readonly gateway: { readonly prices: PriceTable | null } | null;
  readonly snapshot: { readonly prices: PriceTable };
}

/** Returns the price of a model that was in effect when the request started; null if it has none. */
export function priceFor({ gateway, snapshot }: PricedExchange, model: string | null): CompiledPrice | null {
  if (model === null) return null;
  return gateway?.prices?.priceOf(model) ?? snapshot.prices.priceOf(model);
}
