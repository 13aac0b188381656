// Prices of models. An operator can replace the built-in ones.
import { BUILTIN_PRICES, BUILTIN_PRICES_DATE } from "../../usage/builtin-prices.ts";
import { pricesSchema } from "../../model/price.ts";
import { validate } from "../../model/validate.ts";
import type { CurrentConfiguration } from "../../runtime/current-configuration.ts";
import type { StoredPrices, Transaction } from "../../store/store.ts";
import { readResponse, recordResponse, requireMatch, type Versioned } from "../etag.ts";
import { addOperation, type Caller, type RouteTable } from "../operation.ts";
import { timeOfChange, withoutFields } from "../record-fields.ts";

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
    summary: "Get the active prices",
    response: { status: 200, schema: "Prices", description: "In the order in which they are matched." },
    etag: "read",
    handle: async ({ caller }) => readResponse(caller, show(await current.store.prices())),
  });

  addOperation(table, {
    ...shared,
    method: "put",
    summary: "Replace the prices",
    body: "PricesInput",
    bodyExample: PRICES_EXAMPLE,
    response: {
      status: 200,
      schema: "Prices",
      description: "The new prices. They apply to requests that start from now on.",
    },
    etag: "changed",
    handle: async ({ body, caller }) => {
      const { prices } = validate(pricesSchema, withoutFields(body, READ_ONLY));
      const work = async (transaction: Transaction) => {
        const before = await requireVersion(caller, transaction);
        const stored = { prices, updated_at: timeOfChange(before) };
        await transaction.setPrices(stored);
        return stored;
      };
      return recordResponse(show(await current.write(work, { subject: caller.subject })));
    },
  });

  addOperation(table, {
    ...shared,
    method: "delete",
    summary: "Restore the built-in prices",
    response: { status: 204, description: "The built-in prices are active." },
    etag: "changed",
    handle: async ({ caller }) => {
      const work = async (transaction: Transaction) => {
        await requireVersion(caller, transaction);
        await transaction.setPrices(null);
      };
      await current.write(work, { subject: caller.subject });
      return new Response(null, { status: 204 });
    },
  });
}

/** Returns the prices before a change. Throws if they are not the version that the client wants to change. */
async function requireVersion(caller: Caller, transaction: Transaction): Promise<Versioned> {
  const before = show(await transaction.prices());
  requireMatch(caller, before);
  return before;
}

function show(stored: StoredPrices | null) {
  const builtin = { prices: BUILTIN_PRICES, updated_at: `${BUILTIN_PRICES_DATE}T00:00:00.000Z` };
  const { prices, updated_at } = stored ?? builtin;
  return { prices, builtin: stored === null, updated_at };
}
