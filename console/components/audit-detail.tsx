// One entry of the audit log, in a drawer.
import type { ComponentChildren, JSX } from "preact";
import type { AuditEntry } from "../api/types.ts";
import { gatewayName } from "../state/gateways.ts";
import { Link } from "../state/router.tsx";
import type { Tone } from "./badge.tsx";
import { Code } from "./code.tsx";
import { Dialog } from "./dialog.tsx";
import { Time } from "./format.tsx";

type Action = AuditEntry["action"];

export const AUDIT_ACTIONS: Readonly<Record<Action, { readonly text: string; readonly tone: Tone }>> = {
  create: { text: "Create", tone: "good" },
  update: { text: "Update", tone: "accent" },
  delete: { text: "Delete", tone: "bad" },
  apply: { text: "Apply", tone: "accent" },
  rollback: { text: "Rollback", tone: "warning" },
  revoke: { text: "Revoke", tone: "bad" },
  read_secrets: { text: "Read secrets", tone: "warning" },
  sign_in: { text: "Sign in", tone: "neutral" },
  sign_out: { text: "Sign out", tone: "neutral" },
  refused: { text: "Rejected", tone: "bad" },
};

const ACTOR_TYPES = {
  server_secret: "token signed with SERVER_SECRET_KEY",
  admin_token: "stored admin token",
  oidc: "OIDC sign-in",
  gatehouse: "the gateway itself",
};

/** What the action concerns, such as `gateway “acme”`. */
export function describeEntry({ action, resource, name, details }: AuditEntry): string {
  if (action === "refused") {
    const count = Number(details?.["count"] ?? 1);
    const codes = Object.keys(details?.["codes"] ?? {}).join(", ");
    return `${count} ${count === 1 ? "request" : "requests"}${codes === "" ? "" : ` (${codes})`}`;
  }
  const kind = (resource ?? "").replaceAll("_", " ").replace("api key", "API key");
  return name === null ? kind : `${kind} “${name}”`;
}

interface AuditDetailProps {
  readonly entry: AuditEntry;
  readonly onClose: () => void;
}

export function AuditDetail({ entry, onClose }: AuditDetailProps): JSX.Element {
  const { actor, role, revision, details } = entry;
  return (
    <Dialog title={`Entry ${entry.sequence}`} kind="drawer" onClose={onClose}>
      <dl class="properties">
        <Fact title="Time">
          <Time at={entry.created_at} />
        </Fact>
        <Fact title="Action">
          {AUDIT_ACTIONS[entry.action].text} {describeEntry(entry)}
        </Fact>
        <Fact title="Administrator">
          {actor === null ? "Not signed in" : `${actor.name} (${ACTOR_TYPES[actor.type]})`}
        </Fact>
        {role !== null && <Fact title="Role">{role}</Fact>}
        {entry.gateway_id !== null && entry.gateway_id !== "" && (
          <Fact title="Gateway">{gatewayName(entry.gateway_id)}</Fact>
        )}
        {entry.resource_id !== null && (
          <Fact title="Record">
            <code>{entry.resource_id}</code>
          </Fact>
        )}
        {revision !== null && (
          <Fact title="Revision">
            <Link to={`/history/${revision}`}>{revision}</Link>
          </Fact>
        )}
        {entry.address !== null && <Fact title="Address">{entry.address}</Fact>}
        {entry.request_id !== null && (
          <Fact title="Request ID">
            <code>{entry.request_id}</code>
          </Fact>
        )}
        <Fact title="Hash">
          <code>{entry.hash}</code>
        </Fact>
      </dl>
      {details !== null && (
        <>
          <h3 class="details-title">Details</h3>
          <Code text={JSON.stringify(details, null, 2)} what="details" />
        </>
      )}
    </Dialog>
  );
}

function Fact({
  title,
  children,
}: {
  readonly title: string;
  readonly children: ComponentChildren;
}): JSX.Element {
  return (
    <>
      <dt>{title}</dt>
      <dd>{children}</dd>
    </>
  );
}
