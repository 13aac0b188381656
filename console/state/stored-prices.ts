// Reads and writes the price lists: of a gateway, of the installation, and the built-in one.
import { ApiError, call, get, type ApiResponse } from "../api/client.ts";
import type { BuiltinPrices, Gateway, Prices } from "../api/types.ts";
import { compactRow, withDecimals, type PriceList, type PriceRow } from "./prices.ts";

/** The record that has a list of prices: a gateway, or the prices of the installation. */
export type PriceRecord = Gateway | Prices;

export function pricesIn(record: PriceRecord): readonly PriceRow[] {
  return "builtin" in record && record.builtin ? [] : record.prices.map(withDecimals);
}

/** API path of the record. */
export function pricesPath(gateway: string | undefined): string {
  return gateway === undefined ? "/prices" : `/gateways/${encodeURIComponent(gateway)}`;
}

/** Method and path that `savePrices` calls. */
export function savePricesOperation(gateway: string | undefined): string {
  return gateway === undefined ? "PUT /prices" : `PATCH ${pricesPath(gateway)}`;
}

interface LoadedPrices {
  readonly lists: readonly PriceList[];
  readonly builtin: BuiltinPrices;
  /** When the prices of the installation were changed; null if it has none. */
  readonly updatedAt: string | null;
}

export async function loadPrices(gateway: string | undefined, signal: AbortSignal): Promise<LoadedPrices> {
  const [record, installation, builtin] = await Promise.all([
    gateway === undefined ? null : get<Gateway>(pricesPath(gateway), signal),
    get<Prices>("/prices", signal),
    get<BuiltinPrices>("/prices/builtin", signal),
  ]);
  return {
    lists: [
      ...(record === null ? [] : [{ source: "gateway" as const, prices: pricesIn(record) }]),
      { source: "installation", prices: pricesIn(installation) },
      { source: "builtin", prices: builtin.prices.map(withDecimals) },
    ],
    builtin,
    updatedAt: installation.builtin ? null : installation.updated_at,
  };
}

/** Replaces the list. An empty list of the installation is removed. */
export async function savePrices(
  gateway: string | undefined,
  prices: readonly PriceRow[],
  etag: string | null,
): Promise<void> {
  const body = { prices: prices.map(compactRow) };
  try {
    if (gateway !== undefined) await call("PATCH", pricesPath(gateway), { body, etag });
    else if (prices.length === 0) await call("DELETE", "/prices", { etag });
    else await call("PUT", "/prices", { body, etag });
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    // The other prices are stored already, so that every problem is one of the price that is edited.
    const details = error.details.map(({ path, message }) => ({
      path: path.replace(/^prices\[\d+\]\.?/, ""),
      message,
    }));
    throw new ApiError(error.status, { error: error.message, code: error.code, details });
  }
}

export async function deletePrice(gateway: string | undefined, model: string): Promise<void> {
  const { data, etag }: ApiResponse<PriceRecord> = await call("GET", pricesPath(gateway));
  const kept = pricesIn(data).filter((price) => price.model !== model);
  await savePrices(gateway, kept, etag);
}
