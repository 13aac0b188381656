// Describes changed records field by field, as revisions, comparisons, and rollbacks return them. Secrets are masked.
import { isKind } from "../kinds/kinds.ts";
import { ruleLabel } from "../model/rule-names.ts";
import { showGateway } from "../model/gateway.ts";
import { diffRecords, type FieldChange } from "../model/record-diff.ts";
import { resourceOf } from "../store/audit-revision.ts";
import { hideSecretsOf } from "../store/record-secrets.ts";
import type { RecordChange, Revision } from "../store/store.ts";
import { withoutFields } from "./record-fields.ts";

/** Limit for the response: the deletion of a gateway with all its keys, or a large document, changes far more fields. */
export const MAX_DIFF = 1000;

interface ShownChange {
  readonly action: "create" | "update" | "delete";
  readonly resource: string;
  readonly id: string;
  readonly gateway_id: string | null;
  readonly name: string | null;
  readonly changes: readonly FieldChange[];
}

/** Returns the changes by record, with at most MAX_DIFF fields, and the number of fields that were left out. */
export function showChanges(records: readonly RecordChange[]): {
  readonly records: readonly ShownChange[];
  readonly left_out: number;
} {
  const shown: ShownChange[] = [];
  let total = 0;
  for (const { kind, id, before, after } of records) {
    const changes = diffRecords(toComparable(kind, before), toComparable(kind, after));
    const record = after ?? before;
    if (changes.length === 0 || record === null) continue;
    const remaining = MAX_DIFF - total;
    total += changes.length;
    if (remaining <= 0) continue;
    shown.push({
      action: before === null ? "create" : after === null ? "delete" : "update",
      resource: resourceOf(kind),
      id,
      gateway_id: "gateway_id" in record ? record.gateway_id : null,
      name: nameOf(record),
      changes: changes.slice(0, remaining),
    });
  }
  return { records: shown, left_out: Math.max(0, total - MAX_DIFF) };
}

function nameOf(record: NonNullable<RecordChange["after"]>): string | null {
  if ("methods" in record) return ruleLabel(record);
  return "name" in record ? record.name : null;
}

/** Paths are relative to the record that the revision is about; paths in other records start with kind and id. */
export function diffOf({ kind, id, before, after }: RecordChange, about: Revision): FieldChange[] {
  const fields = diffRecords(toComparable(kind, before), toComparable(kind, after));
  if (kind === about.kind && id === about.resource_id) return fields;
  return fields.map(({ path, ...values }) => ({ path: `${kind}/${id}.${path}`, ...values }));
}

/** Removes or hides what a response may not show. */
function toComparable(kind: RecordChange["kind"], record: RecordChange["before"]): object | null {
  if (record === null) return null;
  if ("required_plugins" in record) return showGateway(record);
  const shown = isKind(kind) ? hideSecretsOf(kind, record) : record;
  return withoutFields({ ...shown }, ["hash", "counter_key"]);
}
