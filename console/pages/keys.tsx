// List of a gateway's API keys.
import type { JSX } from "preact";
import { KEYS_PATH, namesOf } from "../api/resources.ts";
import type { ApiKey } from "../api/types.ts";
import { Badge } from "../components/badge.tsx";
import { Time } from "../components/format.tsx";
import type { ListColumn } from "../components/list-tools.tsx";
import { RecordListPage } from "../components/record-list-page.tsx";
import { keyState } from "../state/key-state.ts";
import type { RoutedPageProps } from "../state/router.tsx";

const STATE_LABELS = { active: "Active", expired: "Expired", revoked: "Revoked" };

interface Row extends ApiKey {
  /** Paths of the rules in `policies`. */
  readonly rules: readonly string[];
}

const orNever = (time: string | null) =>
  time === null ? <span class="muted">Never</span> : <Time at={time} />;

const COLUMNS: readonly ListColumn<Row>[] = [
  { title: "Key", cell: ({ prefix }) => <code class="whole">{prefix}…</code> },
  { title: "Rules", cell: ({ rules }) => (rules.length === 0 ? "All rules" : rules.join(", ")) },
  { title: "Models", cell: ({ models }) => models?.join(", ") ?? "All models" },
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
  { title: "Last used", sort: "last_used_at", cell: ({ last_used_at }) => orNever(last_used_at) },
  { title: "Expires", cell: ({ expires_at }) => orNever(expires_at) },
];

export function KeysPage({ parameters }: RoutedPageProps): JSX.Element {
  const gateway = parameters["gateway"] ?? "";
  return (
    <RecordListPage<ApiKey, Row>
      isWide
      title="API keys"
      description="An API key gives access to all rules of its gateway, or to selected ones. It is shown only once, when it is created."
      singular="API key"
      base={`/gateways/${gateway}/keys`}
      path={KEYS_PATH}
      field="api_keys"
      filter={{ subject: gateway }}
      complete={async (keys, signal) => {
        const ids = keys.flatMap(({ policies }) => policies);
        const paths = await namesOf(gateway, "rules", ids, signal);
        return keys.map((key) => ({ ...key, rules: key.policies.map((id) => paths.get(id) ?? id) }));
      }}
      isDimmed={(key) => keyState(key) !== "active"}
      columns={COLUMNS}
      removal={{
        verb: "Revoke",
        done: "Revoked",
        text: "Clients that use them get 401 within a second. This cannot be undone. Their usage data is kept.",
        appliesTo: ({ active }) => active,
      }}
      empty="Create one per application, so that each can be limited, metered, and revoked separately."
    />
  );
}
