// List of a gateway's game days with what they affect and their verdicts, and a button that stops one.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { call, get } from "../api/client.ts";
import { collectionPath, listPage } from "../api/resources.ts";
import type { GameDay, GameDayState } from "../api/types.ts";
import { Badge } from "../components/badge.tsx";
import { Button, LinkButton } from "../components/button.tsx";
import { DuplicateLink } from "../components/duplicate.tsx";
import { Time } from "../components/format.tsx";
import type { ListColumn } from "../components/list-tools.tsx";
import { Empty } from "../components/notice.tsx";
import { Page } from "../components/page.tsx";
import { RecordList } from "../components/record-list.tsx";
import { activeRevision } from "../state/connection.ts";
import { confirmAction, showToast } from "../state/dialogs.ts";
import { Link, type RoutedPageProps } from "../state/router.tsx";

const RELOAD_MS = 2000;

interface Row {
  readonly gameDay: GameDay;
  readonly state: GameDayState;
}

const PHASES = {
  scheduled: "Scheduled",
  running: "Running",
  ended: "Ended",
  stopped: "Stopped",
  aborted: "Aborted",
} as const;

export function GameDaysPage({ parameters }: RoutedPageProps): JSX.Element {
  const gateway = parameters["gateway"] ?? "";
  const path = collectionPath(gateway, "game-days");
  const base = `/gateways/${gateway}/game-days`;
  const create = (
    <LinkButton to={`${base}/new`} kind="primary" icon="add">
      New game day
    </LinkButton>
  );
  const [reloads, setReloads] = useState(0);
  const stop = async ({ id, name }: GameDay) => {
    const isDone = await confirmAction({
      title: `Stop “${name}”?`,
      text: "All nodes stop injecting faults within a second. Responses that are delayed or stalled continue.",
      confirm: "Stop",
      action: () => call("POST", `${path}/${id}/stop`, {}),
    });
    if (!isDone) return;
    showToast("Stopped the game day.");
    setReloads(reloads + 1);
  };
  return (
    <Page
      title="Game days"
      description="A game day injects faults into some requests for a limited time, to find out whether failover, timeouts, and limits work."
      actions={create}
    >
      <RecordList<Row>
        what="game days"
        label="Game days"
        intervalMs={RELOAD_MS}
        load={async (query, signal) => {
          const { rows, count } = await listPage<GameDay>(path, "game_days", { ...query }, signal);
          const states = rows.map(async (gameDay) => ({
            gameDay,
            state: await get<GameDayState>(`${path}/${gameDay.id}/state`, signal),
          }));
          return { rows: await Promise.all(states), count };
        }}
        dependencies={[activeRevision.value, reloads]}
        columns={columnsFor(base, path, (gameDay) => void stop(gameDay))}
        keyOf={({ gameDay }) => gameDay.id}
        nameOf={({ gameDay }) => gameDay.name}
        actions={[
          {
            verb: "Delete",
            done: "Deleted",
            operation: `DELETE ${path}/one`,
            text: "What they counted is deleted too. A game day that runs stops within a second.",
            isDangerous: true,
            run: ({ gameDay }) => call("DELETE", `${path}/${gameDay.id}`),
          },
        ]}
        empty={
          <Empty title="No game days" action={create}>
            You can also start one with <code>gatehouse game-day run FILE</code>.
          </Empty>
        }
      />
    </Page>
  );
}

/** `base` and `path` are the console path and the API path of the list. */
function columnsFor(
  base: string,
  path: string,
  onStop: (gameDay: GameDay) => void,
): readonly ListColumn<Row>[] {
  return [
    {
      title: "Name",
      kind: "main",
      sort: "name",
      cell: ({ gameDay }) => <Link to={`${base}/${gameDay.id}`}>{gameDay.name}</Link>,
    },
    {
      title: "Faults",
      cell: ({ gameDay }) => [...new Set(gameDay.faults.map(({ type }) => type))].join(", "),
    },
    { title: "State", cell: ({ state }) => <Phase {...state} /> },
    { title: "Affected requests", kind: "number", cell: ({ state }) => String(state.affected.requests) },
    { title: "Other requests", kind: "number", cell: ({ state }) => String(state.others.requests) },
    { title: "Verdict", cell: ({ state }) => <Verdict {...state} /> },
    { title: "Ends", cell: ({ gameDay }) => <Time at={gameDay.ends_at} /> },
    {
      title: "Actions",
      kind: "actions",
      cell: ({ gameDay, state: { phase } }) => (
        <>
          {(phase === "running" || phase === "scheduled") && (
            <Button
              label={`Stop ${gameDay.name}`}
              operation={`POST ${path}/${gameDay.id}/stop`}
              onClick={() => onStop(gameDay)}
            >
              Stop
            </Button>
          )}
          <DuplicateLink to={`${base}/new`} id={gameDay.id} name={gameDay.name} />
        </>
      ),
    },
  ];
}

function Phase({ phase, aborted }: GameDayState): JSX.Element {
  return (
    <>
      <Badge {...(phase === "running" && { tone: "accent" as const })}>{PHASES[phase]}</Badge>
      {aborted !== null && <p class="hint">{aborted.reason}</p>}
    </>
  );
}

function Verdict({ verdict, checks }: GameDayState): JSX.Element {
  if (verdict === "pending") return <span class="muted">Pending</span>;
  if (verdict === "passed") return <Badge tone="good">Passed</Badge>;
  const failed = checks.filter(({ passed }) => !passed).map(({ check }) => check);
  return (
    <>
      <Badge tone="bad">Failed</Badge>
      <p class="hint">{failed.join(", ")}</p>
    </>
  );
}
