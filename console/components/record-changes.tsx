// Changes of the configuration by record: a created or deleted record is one block, a changed one lists its fields.
import type { JSX } from "preact";
import type { Difference } from "../api/item-types.ts";
import type { RevisionDiff } from "../api/types.ts";
import { gatewayName } from "../state/gateways.ts";
import { Badge, type Tone } from "./badge.tsx";

type ChangedRecord = RevisionDiff["records"][number] & {
  /** Name of the gateway, if its id is not known. */
  readonly gateway?: string;
};

const ACTIONS: Readonly<Record<ChangedRecord["action"], { readonly text: string; readonly tone: Tone }>> = {
  create: { text: "Create", tone: "good" },
  update: { text: "Update", tone: "accent" },
  delete: { text: "Delete", tone: "bad" },
};

interface RecordChangesProps {
  readonly records: readonly ChangedRecord[];
  /** Number of changed fields that are missing in `records`. */
  readonly leftOut: number;
}

export function RecordChanges({ records, leftOut }: RecordChangesProps): JSX.Element {
  return (
    <>
      <ul class="record-changes">
        {records.map((record) => (
          <li class="card" key={`${record.resource}/${record.id}`}>
            <h3>
              <Badge tone={ACTIONS[record.action].tone}>{ACTIONS[record.action].text}</Badge>{" "}
              {describeRecord(record.resource, record.name)}
              {record.gateway_id !== null && <span class="muted"> of {gatewayName(record.gateway_id)}</span>}
              {record.gateway !== undefined && <span class="muted"> of {record.gateway}</span>}
            </h3>
            <div class="diff" hidden={record.changes.length === 0}>
              {record.action === "update" ? (
                <FieldChanges changes={record.changes} />
              ) : (
                <pre class={record.action === "create" ? "after" : "before"}>
                  <span class="visually-hidden">
                    {record.action === "create" ? "created: " : "deleted: "}
                  </span>
                  {record.changes
                    .map(({ path, before, after }) => `${path}: ${formatValue(after ?? before)}`)
                    .join("\n")}
                </pre>
              )}
            </div>
          </li>
        ))}
      </ul>
      {leftOut > 0 && <p class="muted">{leftOut} more changed fields are not shown.</p>}
    </>
  );
}

/** Such as `rule “chat”`. */
export function describeRecord(resource: string, name: string | null): string {
  const kind = resource === "api_key" ? "API key" : resource.replaceAll("_", " ");
  return name === null ? kind : `${kind} “${name}”`;
}

/** Values before and after, by field. */
export function FieldChanges({ changes }: { readonly changes: readonly Difference[] }): JSX.Element {
  return (
    <ul>
      {changes.map(({ path, before, after, secret = false }) => (
        <li key={path}>
          <code>{path}</code> {secret && <span class="muted">secret, masked</span>}
          {before !== undefined && before !== null && (
            <pre class="before">
              <span class="visually-hidden">before: </span>
              {formatValue(before)}
            </pre>
          )}
          {after !== undefined && after !== null && (
            <pre class="after">
              <span class="visually-hidden">after: </span>
              {formatValue(after)}
            </pre>
          )}
        </li>
      ))}
    </ul>
  );
}

function formatValue(value: unknown): string {
  if (typeof value === "string") return value;
  const line = JSON.stringify(value);
  return line.length <= 60 ? line : JSON.stringify(value, null, 2);
}
