// Prices of models of the installation, and the built-in ones, which come after them.
import { BUILTIN_PRICES, BUILTIN_PRICES_DATE, BUILTIN_PRICES_SOURCES } from "../../usage/builtin-prices.ts";
import { pricesSchema } from "../../model/price.ts";
import { validate } from "../../model/validate.ts";
import type { CurrentConfiguration } from "../../runtime/current-configuration.ts";
import type { StoredPrices, Transaction } from "../../store/store.ts";
import { readResponse, recordResponse, requireMatch, type Versioned } from "../etag.ts";
import { addOperation, type Caller, type RouteTable } from "../operation.ts";
import { timeOfChange } from "../../model/record.ts";
import { withoutFields } from "../record-fields.ts";
import { commitWrite } from "../write.ts";

const READ_ONLY = ["builtin", "updated_at"];

const PRICES_EXAMPLE = {
  prices: [
    { model: "gpt-4o-mini*", input: "0.15", cached_input: "0.075", output: "0.60" },
    { model: "our-model", input: "1", output: "4", above: { tokens: 200_000, input: "2", output: "6" } },
    { model: "our-search", per_request: "0.01" },
  ],
};

export function addPriceRoutes(table: RouteTable, current: CurrentConfiguration): void {
  const shared = { path: "/prices", tag: "prices" };
  addBuiltinRoute(table);

  addOperation(table, {
    ...shared,
    method: "get",
    summary: "Get the prices of the installation, or the built-in ones if it has none",
    access: { role: "viewer", limited: "shared" },
    response: { status: 200, schema: "Prices", description: "In the order in which they are matched." },
    etag: "read",
    handle: async ({ caller }) => readResponse(caller, show(await current.store.prices())),
  });

  addOperation(table, {
    ...shared,
    method: "put",
    summary: "Replace the prices of the installation",
    access: { role: "operator" },
    body: "PricesInput",
    bodyExample: PRICES_EXAMPLE,
    response: {
      status: 200,
      schema: "Prices",
      description:
        "The new prices. They apply to requests that start from now on, before the built-in prices and after those of a gateway.",
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
      return recordResponse(show((await commitWrite(current, caller, work)).value));
    },
  });

  addOperation(table, {
    ...shared,
    method: "delete",
    summary: "Remove the prices of the installation",
    access: { role: "operator" },
    response: { status: 204, description: "Only the built-in prices and those of gateways apply." },
    etag: "changed",
    handle: async ({ caller }) => {
      const work = async (transaction: Transaction) => {
        await requireVersion(caller, transaction);
        await transaction.setPrices(null);
      };
      await commitWrite(current, caller, work);
      return new Response(null, { status: 204 });
    },
  });
}

function addBuiltinRoute(table: RouteTable): void {
  addOperation(table, {
    tag: "prices",
    path: "/prices/builtin",
    method: "get",
    summary: "Get the built-in prices",
    access: { role: "viewer", limited: "shared" },
    response: { status: 200, schema: "BuiltinPrices", description: "With their date and sources." },
    handle: () => {
      const shown = { prices: BUILTIN_PRICES, date: BUILTIN_PRICES_DATE, sources: BUILTIN_PRICES_SOURCES };
      return Promise.resolve(Response.json(shown));
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
