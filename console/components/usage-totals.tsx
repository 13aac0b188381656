// Table of usage totals, one row per group.
import type { JSX } from "preact";
import type { UsageRowGroup, UsageTotals } from "../state/usage.ts";
import { formatCost, formatCount } from "./format.tsx";
import { Table, type Column } from "./table.tsx";

export function TotalsTable(props: {
  readonly label: string;
  readonly first: string;
  readonly groups: readonly UsageRowGroup[];
}): JSX.Element {
  const { label, first, groups } = props;
  const column = (title: string, select: (totals: UsageTotals) => string): Column<UsageRowGroup> => ({
    title,
    kind: "number",
    cell: ({ totals }) => select(totals),
  });
  return (
    <Table
      label={label}
      rows={groups}
      keyOf={({ name }) => name}
      columns={[
        { title: first, kind: "main", cell: ({ name }) => name },
        column("Requests", ({ requests }) => formatCount(requests)),
        column("Incomplete", ({ partial }) => formatCount(partial)),
        column("Input tokens", ({ input }) => formatCount(input)),
        column("Output tokens", ({ output }) => formatCount(output)),
        column("Unpriced", ({ unpriced }) => formatCount(unpriced)),
        column("Cost", ({ cost }) => (cost === null ? "–" : formatCost(cost))),
      ]}
    />
  );
}
