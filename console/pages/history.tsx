// Every change of the configuration, the newest first.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { get, query } from "../api/client.ts";
import type { Revision, RevisionList } from "../api/types.ts";
import { Badge, type Tone } from "../components/badge.tsx";
import { Button, LinkButton } from "../components/button.tsx";
import { Empty } from "../components/notice.tsx";
import { Page, WhenLoaded } from "../components/page.tsx";
import { Table } from "../components/table.tsx";
import { Time } from "../components/time.tsx";
import { Filter } from "../forms/filter.tsx";
import { revision } from "../state/connection.ts";
import { gateways, nameOfGateway } from "../state/gateways.ts";
import { useLoad } from "../state/load.ts";
import { Link, place, replaceSearch } from "../state/router.tsx";

const PAGE_SIZE = 50;

const TONES: Readonly<Record<Revision["action"], Tone>> = {
  create: "good",
  update: "accent",
  delete: "bad",
  rollback: "warning",
  apply: "accent",
};

export function HistoryPage(): JSX.Element {
  const [size, setSize] = useState(PAGE_SIZE);
  const gateway = place.value.search.get("gateway") ?? "";
  const loaded = useLoad(
    (signal) => get<RevisionList>(`/revisions${query({ limit: size, gateway_id: gateway })}`, signal),
    [size, gateway, revision.value],
  );
  return (
    <Page
      title="History"
      about="Every change has a revision. Open one to see what it changed, or to put everything back as it was then."
    >
      <div class="filters">
        <Filter
          label="Gateway"
          value={gateway}
          onChange={(value) => replaceSearch({ gateway: value })}
          choices={(gateways.value ?? []).map(({ id, name }) => [id, name] as const)}
        />
      </div>
      <WhenLoaded
        loaded={loaded}
        what="the history"
        missing="This gateway keeps no history of its configuration."
      >
        {({ revisions, count }) =>
          revisions.length === 0 ? (
            <Empty
              title="Nothing was changed yet"
              action={<LinkButton to="/start">Set up the first route</LinkButton>}
            >
              The first change will be revision 1.
            </Empty>
          ) : (
            <>
              <Table
                label="Revisions"
                rows={revisions}
                keyOf={(each) => String(each.revision)}
                columns={[
                  {
                    title: "Revision",
                    kind: "main",
                    cell: (each) => (
                      <>
                        <Link to={`/history/${each.revision}`} label={`Revision ${each.revision}`}>
                          {each.revision}
                        </Link>{" "}
                        {each.revision === revision.value && <Badge tone="good">in force</Badge>}
                      </>
                    ),
                  },
                  {
                    title: "Change",
                    cell: (each) => (
                      <>
                        <Badge tone={TONES[each.action]}>{each.action}</Badge> {describeRevision(each)}
                      </>
                    ),
                  },
                  {
                    title: "Gateway",
                    cell: ({ gateway_id }) =>
                      gateway_id === null ? <span class="soft">–</span> : nameOfGateway(gateway_id),
                  },
                  { title: "By", cell: ({ subject }) => subject ?? <span class="soft">not told</span> },
                  { title: "Time", cell: ({ created_at }) => <Time at={created_at} /> },
                ]}
              />
              {revisions.length < count && (
                <p class="more-rows">
                  <Button onClick={() => setSize(size + PAGE_SIZE)} isBusy={loaded.isLoading}>
                    Show more of {count}
                  </Button>
                </p>
              )}
            </>
          )
        }
      </WhenLoaded>
    </Page>
  );
}

export function describeRevision({ resource, name }: Revision): string {
  if (resource === "configuration") return name ?? "the configuration";
  const kind = resource === "api_key" ? "API key" : resource.replaceAll("_", " ");
  return name === null ? kind : `${kind} “${name}”`;
}
