// Writes a record through the configuration, so that a fault of compilation comes back as a fault of its fields.
import { GatehouseError, validationError } from "../base/errors.ts";
import { CompileError } from "../snapshot/compile-error.ts";
import type { CurrentConfiguration } from "../snapshot/current.ts";
import type { Kind, RecordOf, Transaction } from "../store/store.ts";

export async function writeRecord<T extends { readonly id: string } | null>(
  current: CurrentConfiguration,
  work: (transaction: Transaction) => Promise<T>,
): Promise<T> {
  let writtenId: string | undefined;
  try {
    return await current.write(async (transaction) => {
      const record = await work(transaction);
      writtenId = record?.id;
      return record;
    });
  } catch (fault) {
    if (!(fault instanceof CompileError)) throw fault;
    // Another record of the gateway may be what does not compile: then its place is told in full.
    const prefix = fault.id === writtenId ? "" : `${fault.kind}/${fault.id}.`;
    throw validationError(fault.details.map(({ path, message }) => ({ path: prefix + path, message })));
  }
}

export function notFound(kind: Kind, id: string): GatehouseError {
  const what = kind === "api_keys" ? "API key" : kind.slice(0, -1);
  return new GatehouseError("not_found", `There is no ${what} "${id.slice(0, 64)}".`);
}

interface RecordReader {
  get<K extends Kind>(kind: K, id: string): Promise<RecordOf[K] | null>;
}

export async function requireGateway(reader: RecordReader, id: string): Promise<RecordOf["gateways"]> {
  const gateway = await reader.get("gateways", id);
  if (gateway === null) throw notFound("gateways", id);
  return gateway;
}

type ChildKind = Exclude<Kind, "gateways">;

/** A record of this gateway; one of another gateway is as little found as one that does not exist. */
export async function requireChild<K extends ChildKind>(
  reader: RecordReader,
  kind: K,
  gatewayId: string,
  id: string,
): Promise<RecordOf[K]> {
  const record = await reader.get(kind, id);
  if (record === null || record.gateway_id !== gatewayId) {
    await requireGateway(reader, gatewayId);
    throw notFound(kind, id);
  }
  return record;
}
