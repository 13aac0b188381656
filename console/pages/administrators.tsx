// List of stored admin tokens, with revocation.
import type { JSX } from "preact";
import { call, get } from "../api/client.ts";
import type { AdminToken, AdminTokenList } from "../api/types.ts";
import { Badge } from "../components/badge.tsx";
import { Button, LinkButton } from "../components/button.tsx";
import { Time } from "../components/format.tsx";
import { Empty } from "../components/notice.tsx";
import { Forbidden, Page, WhenLoaded } from "../components/page.tsx";
import { Table } from "../components/table.tsx";
import { reasonAgainst } from "../state/administrator.ts";
import { confirmAction, showToast } from "../state/dialogs.ts";
import { gatewayName } from "../state/gateways.ts";
import { useLoad } from "../state/load.ts";
import { me } from "../state/session.ts";

const PATH = "/iam/admin-tokens";

export function AdministratorsPage(): JSX.Element {
  const reason = reasonAgainst(`GET ${PATH}`);
  const create = (
    <LinkButton to="/administrators/new" kind="primary" icon="add">
      New admin token
    </LinkButton>
  );
  return (
    <Page
      title="Administrators"
      description="Admin tokens give people and programs access to this console and to the Admin API. Each has a name, a role, and an expiry, and can be revoked."
      actions={create}
    >
      {reason === null ? <TokenList create={create} /> : <Forbidden reason={reason} />}
    </Page>
  );
}

function TokenList({ create }: { readonly create: JSX.Element }): JSX.Element {
  const loaded = useLoad((signal) => get<AdminTokenList>(`${PATH}?limit=1000`, signal), []);
  const revoke = async ({ id, name }: AdminToken) => {
    const isDone = await confirmAction({
      title: `Revoke admin token “${name}”?`,
      text: "It stops working at once, on all nodes. This cannot be undone. Its record is kept.",
      confirm: "Revoke",
      isDangerous: true,
      action: () => call("DELETE", `${PATH}/${id}`),
    });
    if (!isDone) return;
    showToast(`Revoked admin token “${name}”.`);
    loaded.reload();
  };
  return (
    <WhenLoaded loaded={loaded} what="admin tokens">
      {({ admin_tokens }) =>
        admin_tokens.length === 0 ? (
          <Empty title="No stored admin tokens" action={create}>
            Create one per person or program, with the least role that it needs. Tokens that were signed with
            SERVER_SECRET_KEY and users who sign in with OIDC are not listed here; the audit log shows what
            they did.
          </Empty>
        ) : (
          <TokenTable tokens={admin_tokens} onRevoke={(token) => void revoke(token)} />
        )
      }
    </WhenLoaded>
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

interface TokenTableProps {
  readonly tokens: readonly AdminToken[];
  readonly onRevoke: (token: AdminToken) => void;
}

function TokenTable({ tokens, onRevoke }: TokenTableProps): JSX.Element {
  const ownId = me.value?.actor.id ?? null;
  return (
    <Table
      label="Admin tokens"
      rows={tokens}
      keyOf={({ id }) => id}
      isDimmed={(token) => stateOf(token) !== "active"}
      columns={[
        {
          title: "Name",
          kind: "main",
          cell: ({ id, name }) => (
            <>
              {name} {id === ownId && <Badge tone="accent">You</Badge>}
            </>
          ),
        },
        { title: "Role", cell: ({ role }) => role },
        {
          title: "Gateways",
          cell: ({ gateways }) => (gateways === null ? "All" : gateways.map(gatewayName).join(", ")),
        },
        { title: "State", cell: (token) => STATES[stateOf(token)] },
        { title: "Expires", cell: ({ expires_at }) => <Time at={expires_at} /> },
        {
          title: "Last used",
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
      ]}
    />
  );
}
