// Prices of models: the built-in ones, or the operator's own in their place.
import { BUILTIN_PRICES, BUILTIN_PRICES_DATE } from "../../usage/builtin-prices.ts";
import { pricesSchema } from "../../model/price.ts";
import { validate } from "../../model/validate.ts";
import type { CurrentConfiguration } from "../../runtime/current-configuration.ts";
import type { StoredPrices } from "../../store/store.ts";
import { addOperation, type RouteTable } from "../operation.ts";
import { withoutFields } from "../record-fields.ts";

const READ_ONLY = ["builtin", "updated_at"];

const PRICES_EXAMPLE = {
  prices: [
    { model: "gpt-4o-mini*", input_per_million: 0.15, output_per_million: 0.6 },
    { model: "gpt-4o*", input_per_million: 2.5, output_per_million: 10 },
  ],
};

export function addPriceRoutes(table: RouteTable, current: CurrentConfiguration): void {
  const shared = { path: "/prices", tag: "prices" };

  addOperation(table, {
    ...shared,
    method: "get",
    summary: "Get the prices in force",
    answer: { status: 200, schema: "Prices", description: "In the order they are tried." },
    handle: async () => shown(await current.store.prices()),
  });

  addOperation(table, {
    ...shared,
    method: "put",
    summary: "Replace the prices",
    body: "PricesInput",
    bodyExample: PRICES_EXAMPLE,
    answer: { status: 200, schema: "Prices", description: "In force for every request that begins now." },
    handle: async ({ body, caller }) => {
      const { prices } = validate(pricesSchema, withoutFields(body, READ_ONLY));
      const stored = { prices, updated_at: new Date().toISOString() };
      await current.write((transaction) => transaction.setPrices(stored), { subject: caller.subject });
      return shown(stored);
    },
  });

  addOperation(table, {
    ...shared,
    method: "delete",
    summary: "Go back to the built-in prices",
    answer: { status: 204, description: "The built-in ones are in force." },
    handle: async ({ caller }) => {
      await current.write((transaction) => transaction.setPrices(null), { subject: caller.subject });
      return new Response(null, { status: 204 });
    },
  });
}

function shown(stored: StoredPrices | null): Response {
  const builtin = { prices: BUILTIN_PRICES, updated_at: `${BUILTIN_PRICES_DATE}T00:00:00.000Z` };
  const { prices, updated_at } = stored ?? builtin;
  return Response.json({ prices, builtin: stored === null, updated_at });
}
