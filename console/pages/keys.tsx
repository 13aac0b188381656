// List of a gateway's API keys.
import type { JSX } from "preact";
import { listChildren, listKeys } from "../api/resources.ts";
import type { ApiKey, Rule } from "../api/types.ts";
import { Badge } from "../components/badge.tsx";
import { LinkButton } from "../components/button.tsx";
import { Empty } from "../components/notice.tsx";
import { Page, WhenLoaded } from "../components/page.tsx";
import { Table } from "../components/table.tsx";
import { Time } from "../components/format.tsx";
import { activeRevision } from "../state/connection.ts";
import { keyState } from "../state/key-state.ts";
import { useLoad } from "../state/load.ts";
import { Link, type RoutedPageProps } from "../state/router.tsx";

const STATE_LABELS = { active: "Active", expired: "Expired", revoked: "Revoked" };

export function KeysPage({ parameters }: RoutedPageProps): JSX.Element {
  const gateway = parameters["gateway"] ?? "";
  const base = `/gateways/${gateway}/keys`;
  const loaded = useLoad(
    async (signal) => {
      const [keys, rules] = await Promise.all([
        listKeys(gateway, signal),
        listChildren(gateway, "rules", signal),
      ]);
      return { keys, rules };
    },
    [activeRevision.value],
  );
  const create = (
    <LinkButton to={`${base}/new`} kind="primary" icon="add">
      New API key
    </LinkButton>
  );
  return (
    <Page
      title="API keys"
      description="An API key gives access to all rules of its gateway, or to selected ones. It is shown only once, when it is created."
      actions={create}
    >
      <WhenLoaded loaded={loaded} what="API keys">
        {({ keys, rules }) =>
          keys.length === 0 ? (
            <Empty title="No API keys yet" action={create}>
              Create one per application, so that each can be limited, metered, and revoked separately.
            </Empty>
          ) : (
            <KeyTable base={base} keys={keys} rules={rules} />
          )
        }
      </WhenLoaded>
    </Page>
  );
}

interface KeyTableProps {
  /** Console path of the list. */
  readonly base: string;
  readonly keys: readonly ApiKey[];
  readonly rules: readonly Rule[];
}

function KeyTable({ base, keys, rules }: KeyTableProps): JSX.Element {
  return (
    <Table
      label="API keys"
      rows={keys}
      keyOf={({ id }) => id}
      isDimmed={(key) => keyState(key) !== "active"}
      columns={[
        {
          title: "Name",
          kind: "main",
          cell: ({ id, name }) => <Link to={`${base}/${id}`}>{name}</Link>,
        },
        { title: "Key", cell: ({ prefix }) => <code>{prefix}…</code> },
        {
          title: "Rules",
          cell: ({ policies }) =>
            policies.length === 0
              ? "All rules"
              : policies.map((id) => rules.find((rule) => rule.id === id)?.path ?? id).join(", "),
        },
        {
          title: "Models",
          cell: ({ models }) => models?.join(", ") ?? "All models",
        },
        {
          title: "Labels",
          cell: ({ labels }) =>
            Object.keys(labels).length === 0 ? (
              <span class="muted">None</span>
            ) : (
              Object.entries(labels)
                .map(([name, value]) => `${name}=${value}`)
                .join(", ")
            ),
        },
        {
          title: "State",
          cell: (key) => {
            const state = keyState(key);
            return <Badge tone={state === "active" ? "good" : "neutral"}>{STATE_LABELS[state]}</Badge>;
          },
        },
        {
          title: "Last used",
          cell: ({ last_used_at }) =>
            last_used_at === null ? <span class="muted">Never</span> : <Time at={last_used_at} />,
        },
        {
          title: "Expires",
          cell: ({ expires_at }) =>
            expires_at === null ? <span class="muted">Never</span> : <Time at={expires_at} />,
        },
      ]}
    />
  );
}
