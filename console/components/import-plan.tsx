// What importing a document would change: counts, warnings, and the changes by record.
import type { JSX } from "preact";
import type { Applied } from "../api/types.ts";
import { Notice } from "./notice.tsx";
import { RecordChanges } from "./record-changes.tsx";

/** More records are counted and not listed. */
const MAX_LISTED = 200;

export function ImportPlan({ plan }: { readonly plan: Applied }): JSX.Element {
  const count = (action: string) => plan.changes.filter((change) => change.action === action).length;
  const changed = plan.changes.flatMap(({ action, resource, gateway, name, diff }) =>
    action === "none"
      ? []
      : [
          {
            action,
            resource,
            id: `${gateway}/${name}`,
            gateway_id: null,
            ...(resource !== "gateway" && gateway !== "" && { gateway }),
            name: resource === "prices" ? null : name,
            changes: diff,
          },
        ],
  );
  return (
    <div class="import-plan">
      {plan.warnings.length > 0 && (
        <Notice kind="warning">
          <ul class="import-problems">
            {plan.warnings.map(({ path, message }) => (
              <li key={`${path} ${message}`}>
                <code>{path}</code> {message}
              </li>
            ))}
          </ul>
        </Notice>
      )}
      <p>
        <strong>
          {changed.length === 0
            ? "Nothing to change."
            : `${count("create")} created, ${count("update")} changed, ${count("delete")} removed.`}
        </strong>{" "}
        <span class="muted">{count("none")} unchanged. The document is valid.</span>
      </p>
      <RecordChanges records={changed.slice(0, MAX_LISTED)} leftOut={0} />
      {changed.length > MAX_LISTED && (
        <p class="muted">
          {changed.length - MAX_LISTED} more changed records are not shown; gatehouse apply --dry-run lists
          all of them.
        </p>
      )}
    </div>
  );
}
