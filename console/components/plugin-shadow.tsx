// What a plugin in shadow mode, or its next version, would have done, with a button that lets it take effect.
import type { JSX } from "preact";
import { call, get } from "../api/client.ts";
import type { PluginShadow } from "../api/types.ts";
import { activeRevision } from "../state/connection.ts";
import { confirmAction, showToast } from "../state/dialogs.ts";
import { usePoll } from "../state/load.ts";
import { navigate } from "../state/router.tsx";
import { Button } from "./button.tsx";
import { formatCount, Time } from "./format.tsx";
import { Section, WhenLoaded } from "./page.tsx";
import { Table } from "./table.tsx";

const POLL_MS = 5000;

type Report = Pick<PluginShadow, "problem" | "counts" | "statuses" | "samples">;

const COUNT_LABELS = {
  ran: "Ran",
  passed: "Would pass",
  changed: "Would change",
  responded: "Would respond",
  failed: "Failed",
  timed_out: "Timed out",
  skipped: "Skipped",
  agreed: "Same as current",
  disagreed: "Differs from current",
} satisfies Record<keyof Report["counts"], string>;

interface PluginShadowProps {
  /** Id of the gateway. */
  readonly gateway: string;
  readonly index: number;
}

/** Shows nothing for a plugin that takes effect and has no next version. */
export function PluginShadowReport({ gateway, index }: PluginShadowProps): JSX.Element {
  const path = `/gateways/${gateway}/plugins/${index}`;
  const loaded = usePoll((signal) => get<PluginShadow>(`${path}/shadow`, signal), POLL_MS, [
    activeRevision.value,
  ]);
  return (
    <WhenLoaded loaded={loaded} what="shadow report">
      {({ name, mode, next, ...report }) => (
        <>
          {mode === "shadow" && (
            <Section
              title="In shadow mode"
              description="What the plugin would have done. It has no effect on requests."
              actions={
                <Button operation={`POST ${path}/promote`} onClick={() => void promote(path, name, gateway)}>
                  Let it take effect
                </Button>
              }
            >
              <ReportView report={report} />
            </Section>
          )}
          {next !== null && (
            <Section title="Next version" description={`What ${name}@next would have done.`}>
              <ReportView report={next} />
            </Section>
          )}
        </>
      )}
    </WhenLoaded>
  );
}

async function promote(path: string, name: string, gateway: string): Promise<void> {
  const isConfirmed = await confirmAction({
    title: `Let ${name} take effect?`,
    text: "It can then change and reject requests. Its counters start empty.",
    confirm: "Let it take effect",
    action: () => call("POST", `${path}/promote`),
  });
  if (!isConfirmed) return;
  showToast(`${name} takes effect.`);
  await navigate(`/gateways/${gateway}/plugins`);
}

function ReportView({ report }: { readonly report: Report }): JSX.Element {
  const { problem, counts, statuses, samples } = report;
  if (problem !== null) return <p>It does not run: {problem}</p>;
  const rows = Object.entries(COUNT_LABELS)
    .map(([name, label]) => ({ label, count: counts[name as keyof typeof counts] }))
    .filter(({ count }, position) => position === 0 || count > 0);
  const responses = Object.entries(statuses).map(([status, count]) => `${status}: ${formatCount(count)}`);
  return (
    <>
      <p>
        {rows.map(({ label, count }) => `${label}: ${formatCount(count)}`).join(" · ")}
        {responses.length > 0 && ` (${responses.join(", ")})`}
      </p>
      {samples.length > 0 && (
        <Table
          label="Last requests on which it would have had an effect"
          rows={samples}
          keyOf={({ request_id, time }) => `${time} ${request_id}`}
          columns={[
            { title: "Time", cell: ({ time }) => <Time at={time} /> },
            { title: "Request", kind: "main", cell: ({ request_id }) => <code>{request_id}</code> },
            { title: "Would have", cell: ({ outcome }) => COUNT_LABELS[outcome] },
            { title: "Detail", cell: ({ detail }) => detail ?? "" },
          ]}
        />
      )}
    </>
  );
}
