// List of stored admin tokens, with revocation.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { call } from "../api/client.ts";
import { listPage } from "../api/resources.ts";
import type { AdminToken } from "../api/types.ts";
import { Badge } from "../components/badge.tsx";
import { Button, LinkButton } from "../components/button.tsx";
import { Time } from "../components/format.tsx";
import type { ListColumn } from "../components/list-tools.tsx";
import { Empty } from "../components/notice.tsx";
import { Forbidden, Page } from "../components/page.tsx";
import { RecordList } from "../components/record-list.tsx";
import { reasonAgainst } from "../state/administrator.ts";
import { confirmAction, showToast } from "../state/dialogs.ts";
import { gatewayName } from "../state/gateways.ts";
import { me } from "../state/session.ts";

const PATH = "/iam/admin-tokens";
const REVOCATION = "stops working at once, on all nodes. This cannot be undone.";

export function AdministratorsPage(): JSX.Element {
  const reason = reasonAgainst(`GET ${PATH}`);
  const create = (
    <LinkButton to="/administrators/new" kind="primary" icon="add">
      New admin token
    </LinkButton>
  );
  return (
    <Page
      isWide
      title="Administrators"
      description="Admin tokens give people and programs access to this console and to the Admin API. Each has a name, a role, and an expiry, and can be revoked."
      actions={create}
    >
      {reason === null ? <TokenList create={create} /> : <Forbidden reason={reason} />}
    </Page>
  );
}

function TokenList({ create }: { readonly create: JSX.Element }): JSX.Element {
  const [reloads, setReloads] = useState(0);
  const revoke = async ({ id, name }: AdminToken) => {
    const isDone = await confirmAction({
      title: `Revoke admin token “${name}”?`,
      text: `It ${REVOCATION} Its record is kept.`,
      confirm: "Revoke",
      isDangerous: true,
      action: () => call("DELETE", `${PATH}/${id}`),
    });
    if (!isDone) return;
    showToast(`Revoked admin token “${name}”.`);
    setReloads(reloads + 1);
  };
  return (
    <RecordList
      what="admin tokens"
      label="Admin tokens"
      load={(query, signal) => listPage<AdminToken>(PATH, "admin_tokens", { ...query }, signal)}
      dependencies={[reloads]}
      keyOf={({ id }) => id}
      nameOf={({ name }) => name}
      isDimmed={(token) => stateOf(token) !== "active"}
      columns={columnsOf((token) => void revoke(token))}
      actions={[
        {
          verb: "Revoke",
          done: "Revoked",
          text: `Each of them ${REVOCATION} Their records are kept.`,
          operation: `DELETE ${PATH}/one`,
          isDangerous: true,
          appliesTo: (token) => stateOf(token) === "active",
          run: ({ id }) => call("DELETE", `${PATH}/${id}`),
        },
      ]}
      empty={
        <Empty title="No stored admin tokens" action={create}>
          Create one per person or program, with the least role that it needs. Tokens that were signed with
          SERVER_SECRET_KEY and users who sign in with OIDC are not listed here; the audit log shows what they
          did.
        </Empty>
      }
    />
  );
}

type TokenState = "active" | "expired" | "revoked";

function stateOf({ active, expires_at }: AdminToken): TokenState {
  if (!active) return "revoked";
  return new Date(expires_at) <= new Date() ? "expired" : "active";
}

const STATES = {
  active: <Badge tone="good">Active</Badge>,
  expired: <Badge>Expired</Badge>,
  revoked: <Badge>Revoked</Badge>,
};

function columnsOf(onRevoke: (token: AdminToken) => void): readonly ListColumn<AdminToken>[] {
  const ownId = me.value?.actor.id ?? null;
  return [
    {
      title: "Name",
      kind: "main",
      sort: "name",
      cell: ({ id, name }) => (
        <>
          {name} {id === ownId && <Badge tone="accent">You</Badge>}
        </>
      ),
    },
    { title: "Role", sort: "role", cell: ({ role }) => <span class="whole">{role}</span> },
    {
      title: "Gateways",
      cell: ({ gateways }) => (gateways === null ? "All" : gateways.map(gatewayName).join(", ")),
    },
    { title: "State", cell: (token) => STATES[stateOf(token)] },
    { title: "Expires", sort: "expires_at", cell: ({ expires_at }) => <Time at={expires_at} /> },
    {
      title: "Last used",
      sort: "last_used_at",
      cell: ({ last_used_at }) =>
        last_used_at === null ? <span class="muted">Never</span> : <Time at={last_used_at} />,
    },
    { title: "Created by", cell: ({ created_by }) => created_by },
    {
      title: "Actions",
      kind: "actions",
      cell: (token) =>
        stateOf(token) === "active" && (
          <Button kind="quiet" label={`Revoke ${token.name}`} onClick={() => onRevoke(token)}>
            Revoke
          </Button>
        ),
    },
  ];
}
