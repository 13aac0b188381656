// List of a gateway's API keys.
import type { JSX } from "preact";
import { call } from "../api/client.ts";
import { KEYS_PATH, listPage, namesOf } from "../api/resources.ts";
import type { ApiKey } from "../api/types.ts";
import { Badge } from "../components/badge.tsx";
import { LinkButton } from "../components/button.tsx";
import { DuplicateLink } from "../components/duplicate.tsx";
import { Time } from "../components/format.tsx";
import type { ListColumn } from "../components/list-tools.tsx";
import { Empty } from "../components/notice.tsx";
import { Page } from "../components/page.tsx";
import { RecordList } from "../components/record-list.tsx";
import { activeRevision } from "../state/connection.ts";
import { keyState } from "../state/key-state.ts";
import { Link, type RoutedPageProps } from "../state/router.tsx";

const STATE_LABELS = { active: "Active", expired: "Expired", revoked: "Revoked" };

interface Row extends ApiKey {
  /** Paths of the rules in `policies`. */
  readonly rules: readonly string[];
}

export function KeysPage({ parameters }: RoutedPageProps): JSX.Element {
  const gateway = parameters["gateway"] ?? "";
  const base = `/gateways/${gateway}/keys`;
  const create = (
    <LinkButton to={`${base}/new`} kind="primary" icon="add">
      New API key
    </LinkButton>
  );
  return (
    <Page
      isWide
      title="API keys"
      description="An API key gives access to all rules of its gateway, or to selected ones. It is shown only once, when it is created."
      actions={create}
    >
      <RecordList
        what="API keys"
        label="API keys"
        load={async (query, signal) => {
          const page = { ...query, subject: gateway };
          const { rows, count } = await listPage<ApiKey>(KEYS_PATH, "api_keys", page, signal);
          const ids = rows.flatMap(({ policies }) => policies);
          const paths = await namesOf(gateway, "rules", ids, signal);
          const withRules = rows.map((key) => ({
            ...key,
            rules: key.policies.map((id) => paths.get(id) ?? id),
          }));
          return { rows: withRules, count };
        }}
        dependencies={[activeRevision.value]}
        keyOf={({ id }) => id}
        nameOf={({ name }) => name}
        isDimmed={(key) => keyState(key) !== "active"}
        columns={columnsOf(base)}
        actions={[
          {
            verb: "Revoke",
            done: "Revoked",
            text: "Clients that use them get 401 within a second. This cannot be undone. Their usage data is kept.",
            operation: `DELETE ${KEYS_PATH}/one`,
            isDangerous: true,
            appliesTo: ({ active }) => active,
            run: ({ id }) => call("DELETE", `${KEYS_PATH}/${id}`),
          },
        ]}
        empty={
          <Empty title="No API keys yet" action={create}>
            Create one per application, so that each can be limited, metered, and revoked separately.
          </Empty>
        }
      />
    </Page>
  );
}

/** `base` is the console path of the list. */
function columnsOf(base: string): readonly ListColumn<Row>[] {
  return [
    {
      title: "Name",
      kind: "main",
      sort: "name",
      cell: ({ id, name }) => <Link to={`${base}/${id}`}>{name}</Link>,
    },
    { title: "Key", cell: ({ prefix }) => <code class="whole">{prefix}…</code> },
    { title: "Rules", cell: ({ rules }) => (rules.length === 0 ? "All rules" : rules.join(", ")) },
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
      sort: "last_used_at",
      cell: ({ last_used_at }) =>
        last_used_at === null ? <span class="muted">Never</span> : <Time at={last_used_at} />,
    },
    {
      title: "Expires",
      cell: ({ expires_at }) =>
        expires_at === null ? <span class="muted">Never</span> : <Time at={expires_at} />,
    },
    {
      title: "Actions",
      kind: "actions",
      cell: ({ id, name }) => <DuplicateLink to={`${base}/new`} id={id} name={name} />,
    },
  ];
}
