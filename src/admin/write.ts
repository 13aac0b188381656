// Looks up records for an operation, and writes them so that a configuration that does not compile is a 400.
import { GatehouseError, validationError } from "../base/errors.ts";
import { CompileError } from "../snapshot/compile-error.ts";
import type { CurrentConfiguration } from "../runtime/current-configuration.ts";
import type { Kind, RecordOf } from "../kinds/kind.ts";
import { KINDS } from "../kinds/kinds.ts";
import type { Transaction, WriteOptions, Written } from "../store/store.ts";
import { rejectForbiddenChanges } from "./guard-changes.ts";
import type { Caller } from "./operation.ts";

/** Deadline for a write that may change every record of a gateway, or all records. */
export const LONG_WRITE_MS = 30_000;

type Writer = Pick<Caller, "identity" | "origin" | "audit">;
type Work<T> = (transaction: Transaction) => Promise<T>;
interface Options extends Omit<WriteOptions, "subject" | "audit"> {
  /** Whether the response shows a secret that the write has created. Called after the write. */
  readonly showsSecret?: () => boolean;
}

/**
 * Every write of an operation goes through here: it names its administrator in the revision and in the audit log, and changes
 * nothing that the role must not change.
 */
export async function commitWrite<T>(
  current: CurrentConfiguration,
  writer: Writer,
  work: Work<T>,
  options: Options = {},
): Promise<Written<T>> {
  const written = await current.commit(guarded(writer, work), authored(writer, options));
  writer.audit.export(written.audit);
  return written;
}

/** Runs and compiles a write like `commitWrite`, then rolls it back. */
export function dryRunWrite<T>(
  current: CurrentConfiguration,
  writer: Writer,
  work: Work<T>,
  options: Options = {},
): Promise<T> {
  return current.dryRun(guarded(writer, work), authored(writer, options));
}

function authored({ identity, origin }: Writer, { showsSecret, ...options }: Options): WriteOptions {
  return {
    ...options,
    subject: identity.subject,
    audit: { ...origin, ...(showsSecret !== undefined && { showsSecret }) },
  };
}

function guarded<T>({ identity }: Writer, work: Work<T>): Work<T> {
  return async (transaction) => {
    const value = await work(transaction);
    rejectForbiddenChanges(identity, transaction);
    return value;
  };
}

export async function writeRecord<T extends { readonly id: string }>(
  current: CurrentConfiguration,
  writer: Writer,
  work: Work<T>,
  options: Pick<Options, "deadlineMs" | "showsSecret"> = {},
): Promise<T> {
  let writtenId: string | undefined;
  try {
    const write = async (transaction: Transaction) => {
      const record = await work(transaction);
      writtenId = record.id;
      return record;
    };
    return (await commitWrite(current, writer, write, options)).value;
  } catch (error) {
    throw toValidationError(error, ({ kind, id }) => (id === writtenId ? "" : `${kind}/${id}.`));
  }
}

/** Turns a CompileError into a validation error. `prefixFor` returns what precedes the path of each field. */
export function toValidationError(error: unknown, prefixFor: (error: CompileError) => string): unknown {
  if (!(error instanceof CompileError)) return error;
  const prefix = prefixFor(error);
  return validationError(error.details.map(({ path, message }) => ({ path: prefix + path, message })));
}

export interface RecordReader {
  get<K extends Kind>(kind: K, id: string): Promise<RecordOf[K] | null>;
}

export function requireGateway(reader: RecordReader, id: string): Promise<RecordOf["gateways"]> {
  return requireRecord(reader, "gateways", id, null);
}

/**
 * Returns a record or throws the 404. With a gateway id, a record of another gateway is not found either, and a gateway
 * that does not exist is reported first.
 */
export async function requireRecord<K extends Kind>(
  reader: RecordReader,
  kind: K,
  id: string,
  gatewayId: string | null,
): Promise<RecordOf[K]> {
  const record = await reader.get(kind, id);
  if (record !== null && (gatewayId === null || gatewayIdOf(record) === gatewayId)) return record;
  if (gatewayId !== null) await requireGateway(reader, gatewayId);
  throw unknownRecordError(kind, id);
}

export function unknownRecordError(kind: Kind, id: string): GatehouseError {
  return new GatehouseError("not_found", `There is no ${KINDS[kind].singular} "${id.slice(0, 64)}".`);
}

function gatewayIdOf(record: RecordOf[Kind]): string | null {
  return "gateway_id" in record ? record.gateway_id : null;
}
