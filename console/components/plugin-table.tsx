// Table of plugin runs with their verdicts, of a logged request or of an explanation.
import type { JSX } from "preact";
import type { PluginRun } from "../api/item-types.ts";
import type { Explanation } from "../api/types.ts";
import { Badge } from "./badge.tsx";
import { formatMs } from "./format.tsx";
import { PLUGIN_VERDICTS } from "./labels.ts";
import { Table, type Column } from "./table.tsx";

type Run = (PluginRun | Explanation["plugins"][number]) & { readonly index: number };

const COLUMNS: readonly Column<Run>[] = [
  { title: "Plugin", kind: "main", cell: ({ name }) => name },
  { title: "Stage", cell: ({ stage }) => <code>{stage}</code> },
  {
    title: "Verdict",
    cell: ({ verdict, detail }) => (
      <>
        <Badge tone={PLUGIN_VERDICTS[verdict].tone}>{PLUGIN_VERDICTS[verdict].text}</Badge>
        {detail !== null && <span class="muted"> {detail}</span>}
      </>
    ),
  },
];

const DURATION: Column<Run> = {
  title: "Duration",
  kind: "number",
  cell: (run) => ("ms" in run ? formatMs(run.ms) : "–"),
};

interface PluginTableProps {
  readonly runs: readonly (PluginRun | Explanation["plugins"][number])[];
  readonly hasDuration?: boolean;
}

export function PluginTable({ runs, hasDuration = false }: PluginTableProps): JSX.Element {
  return (
    <Table
      label="Plugins"
      rows={runs.map((run, index) => ({ ...run, index }))}
      keyOf={({ index }) => String(index)}
      columns={hasDuration ? [...COLUMNS, DURATION] : COLUMNS}
    />
  );
}
