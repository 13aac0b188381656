// The entry of the audit log for a revision: what it changed, without values.
import type { JsonObject } from "../base/json.ts";
import { isKind, KINDS } from "../kinds/kinds.ts";
import { diffRecords } from "../model/record-diff.ts";
import { appendAudit, type AuditEntry, type AuditEvent, type WriteAudit } from "./audit.ts";
import type { CredentialCipher } from "./credential-cipher.ts";
import type { Query } from "./database.ts";
import { hideSecretsOf } from "./record-secrets.ts";
import { recordRevision, toRecordChanges } from "./revisions.ts";
import type { RecordChange, Revision, WriteOptions } from "./store.ts";
import type { RowChange, TransactionRecorder } from "./transaction-recorder.ts";

/** Limits the size of an entry: a document can change thousands of records. The revision has the rest. */
const MAX_RECORDS = 20;
const MAX_FIELDS = 20;

/** Records what the transaction did, in the same transaction: in the log of revisions, and in the audit log. */
export async function recordWrite(
  query: Query,
  recorder: TransactionRecorder,
  options: WriteOptions,
  kept: { readonly revisions: number; readonly audit: number },
  cipher: CredentialCipher,
): Promise<{ revision: number; version: string; audit: AuditEntry | null }> {
  const { about, version } = await recordRevision(query, recorder, options, kept.revisions);
  const { revision } = about;
  if (options.audit === undefined) return { revision, version, audit: null };
  const event = toEvent(options.audit, about, recorder.rowChanges, cipher);
  const [audit = null] = await appendAudit(query, [event], kept.audit);
  return { revision, version, audit };
}

function toEvent(
  { showsSecret, ...origin }: WriteAudit,
  about: Revision,
  rowChanges: readonly RowChange[],
  cipher: CredentialCipher,
): AuditEvent {
  const records = toRecordChanges(rowChanges.slice(0, MAX_RECORDS), cipher).map(describeChange);
  return {
    ...origin,
    action: about.action,
    resource: resourceOf(about.kind),
    resource_id: about.resource_id,
    gateway_id: about.gateway_id,
    name: about.name,
    revision: about.revision,
    details: {
      records,
      ...(rowChanges.length > MAX_RECORDS && { more_records: rowChanges.length - MAX_RECORDS }),
      ...(about.reason !== null && { reason: about.reason }),
      ...(showsSecret?.() === true && { secret_shown: true }),
    },
  };
}

function describeChange({ kind, id, before, after }: RecordChange): JsonObject {
  const record = after ?? before;
  const action = before === null ? "create" : after === null ? "delete" : "update";
  const fields = action === "update" ? diffRecords(comparable(kind, before), comparable(kind, after)) : [];
  return {
    action,
    resource: resourceOf(kind),
    id,
    name: record !== null && "name" in record ? record.name : null,
    ...(fields.length > 0 && { fields: fields.slice(0, MAX_FIELDS).map(({ path }) => path) }),
    ...(fields.length > MAX_FIELDS && { more_fields: fields.length - MAX_FIELDS }),
  };
}

function comparable(kind: RecordChange["kind"], record: RecordChange["before"]): object | null {
  return record === null || !isKind(kind) ? record : hideSecretsOf(kind, record);
}

/** Returns the resource of a kind of records, such as `upstream` for `upstreams`. Null is a change of several records. */
export function resourceOf(kind: Revision["kind"]): string {
  if (kind === null) return "configuration";
  if (isKind(kind)) return KINDS[kind].resource;
  return kind === "blocks" ? "block" : kind;
}
