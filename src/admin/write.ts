// Writes a record through the configuration, so that a fault of compilation comes back as a fault of its fields.
import { GatehouseError, validationError } from "../base/errors.ts";
import { CompileError } from "../snapshot/compile-error.ts";
import type { CurrentConfiguration } from "../runtime/current-configuration.ts";
import type { Kind, RecordOf, Transaction, WriteOptions } from "../store/store.ts";
import type { Caller } from "./operation.ts";

/** For a write that may touch every record of a gateway, or all there are. */
export const LONG_WRITE_MS = 30_000;

export async function writeRecord<T extends { readonly id: string } | null>(
  current: CurrentConfiguration,
  { subject }: Pick<Caller, "subject">,
  work: (transaction: Transaction) => Promise<T>,
  options: Pick<WriteOptions, "deadlineMs"> = {},
): Promise<T> {
  let writtenId: string | undefined;
  try {
    return await current.write(
      async (transaction) => {
        const record = await work(transaction);
        writtenId = record?.id;
        return record;
      },
      { ...options, subject },
    );
  } catch (error) {
    throw explainCompileFault(error, ({ kind, id }) => (id === writtenId ? "" : `${kind}/${id}.`));
  }
}

/** What does not compile is a fault of a field. `placeOf` names the record where that is not the one that was sent. */
export function explainCompileFault(error: unknown, placeOf: (error: CompileError) => string): unknown {
  if (!(error instanceof CompileError)) return error;
  const place = placeOf(error);
  return validationError(error.details.map(({ path, message }) => ({ path: place + path, message })));
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
