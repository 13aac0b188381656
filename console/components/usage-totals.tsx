// Table of usage totals, one row per group.
import type { JSX } from "preact";
import { costDecimals, type UsageRowGroup, type UsageTotals } from "../state/usage.ts";
import { formatCount } from "./format.tsx";
import { ChosenTable } from "./chosen-table.tsx";
import type { Column } from "./table.tsx";

export function TotalsTable(props: {
  readonly label: string;
  readonly first: string;
  readonly groups: readonly UsageRowGroup[];
}): JSX.Element {
  const { label, first, groups } = props;
  const decimals = costDecimals(groups.map(({ totals }) => totals.cost));
  const column = (title: string, select: (totals: UsageTotals) => string): Column<UsageRowGroup> => ({
    title,
    kind: "number",
    cell: ({ totals }) => select(totals),
  });
  return (
    <ChosenTable
      // The hidden columns are those of the label.
      key={label}
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
        column("Cost", ({ cost, unpriced }) => {
          if (cost === null) return "Unpriced";
          return `${unpriced === 0 ? "" : "≥\u00A0"}$${cost.toFixed(decimals)}`;
        }),
      ]}
    />
  );
}
