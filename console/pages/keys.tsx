// The API keys of a gateway.
import type { JSX } from "preact";
import { listChildren, listKeys } from "../api/resources.ts";
import type { ApiKey } from "../api/types.ts";
import { Badge } from "../components/badge.tsx";
import { LinkButton } from "../components/button.tsx";
import { Empty } from "../components/notice.tsx";
import { Page, WhenLoaded } from "../components/page.tsx";
import { Table } from "../components/table.tsx";
import { Time } from "../components/time.tsx";
import { revision } from "../state/connection.ts";
import { useLoad } from "../state/load.ts";
import { Link, type PageParameters } from "../state/router.tsx";

export function KeysPage({ parameters }: PageParameters): JSX.Element {
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
    [revision.value],
  );
  const create = (
    <LinkButton to={`${base}/new`} kind="primary" icon="add">
      New API key
    </LinkButton>
  );
  return (
    <Page
      title="API keys"
      about="A key names its gateway and may be good for some of its rules only. It is shown once, when it is made."
      actions={create}
    >
      <WhenLoaded loaded={loaded} what="API keys">
        {({ keys, rules }) =>
          keys.length === 0 ? (
            <Empty title="No API key yet" action={create}>
              Make one for each application, so that each can be limited, counted and revoked alone.
            </Empty>
          ) : (
            <Table
              label="API keys"
              rows={keys}
              keyOf={({ id }) => id}
              isDimmed={(key) => stateOfKey(key) !== "active"}
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
                      ? "every rule"
                      : policies.map((id) => rules.find((rule) => rule.id === id)?.path ?? id).join(", "),
                },
                {
                  title: "State",
                  cell: (key) => {
                    const state = stateOfKey(key);
                    return <Badge tone={state === "active" ? "good" : "neutral"}>{state}</Badge>;
                  },
                },
                {
                  title: "Last used",
                  cell: ({ last_used_at }) =>
                    last_used_at === null ? <span class="soft">never</span> : <Time at={last_used_at} />,
                },
                {
                  title: "Ends",
                  cell: ({ expires_at }) =>
                    expires_at === null ? <span class="soft">never</span> : <Time at={expires_at} />,
                },
              ]}
            />
          )
        }
      </WhenLoaded>
    </Page>
  );
}

export function stateOfKey({ active, expires_at }: ApiKey): "active" | "expired" | "revoked" {
  if (!active) return "revoked";
  return expires_at !== null && new Date(expires_at) <= new Date() ? "expired" : "active";
}
