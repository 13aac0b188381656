// List of a gateway's budgets with what is spent, reserved, and remaining of each.
import type { JSX } from "preact";
import { call } from "../api/client.ts";
import { childPath, listKeys } from "../api/resources.ts";
import type { ApiKey } from "../api/types.ts";
import { Badge } from "../components/badge.tsx";
import { BudgetBar } from "../components/budget-bar.tsx";
import { LinkButton } from "../components/button.tsx";
import { DuplicateLink } from "../components/duplicate.tsx";
import { Time } from "../components/format.tsx";
import type { ListColumn } from "../components/list-tools.tsx";
import { Empty } from "../components/notice.tsx";
import { Page } from "../components/page.tsx";
import { RecordList } from "../components/record-list.tsx";
import { formatAmount } from "../state/amounts.ts";
import { describeScope, hasSubjects, loadBudgets, PERIODS, type BudgetWithState } from "../state/budgets.ts";
import { activeRevision } from "../state/connection.ts";
import { Link, type RoutedPageProps } from "../state/router.tsx";

const RELOAD_MS = 10_000;

type Row = BudgetWithState & { readonly keys: readonly ApiKey[] };

export function BudgetsPage({ parameters }: RoutedPageProps): JSX.Element {
  const gateway = parameters["gateway"] ?? "";
  const base = `/gateways/${gateway}/budgets`;
  const create = (
    <LinkButton to={`${base}/new`} kind="primary" icon="add">
      New budget
    </LinkButton>
  );
  return (
    <Page
      title="Budgets"
      description="A budget limits what requests may cost, or how many tokens they may use, in a period. Requests in progress reserve their estimated cost."
      actions={create}
    >
      <RecordList<Row>
        what="budgets"
        label="Budgets"
        load={async (query, signal) => {
          const [{ rows, count }, keys] = await Promise.all([
            loadBudgets(gateway, { ...query }, signal),
            listKeys(gateway, signal),
          ]);
          return { rows: rows.map((row) => ({ ...row, keys })), count };
        }}
        dependencies={[activeRevision.value]}
        intervalMs={RELOAD_MS}
        columns={columnsFor(base)}
        keyOf={({ budget }) => budget.id}
        nameOf={({ budget }) => budget.name}
        actions={[
          {
            verb: "Delete",
            done: "Deleted",
            operation: `DELETE ${childPath(gateway, "budgets", { id: "one" })}`,
            text: "Requests are no longer limited by them. You can restore them by rolling back to an earlier revision.",
            isDangerous: true,
            run: ({ budget }) => call("DELETE", childPath(gateway, "budgets", budget)),
          },
        ]}
        empty={
          <Empty title="No budgets yet" action={create}>
            Give each team, API key, or user an amount per month, and be notified before it is used up.
          </Empty>
        }
      />
    </Page>
  );
}

function columnsFor(base: string): readonly ListColumn<Row>[] {
  return [
    {
      title: "Name",
      kind: "main",
      sort: "name",
      cell: ({ budget }) => <Link to={`${base}/${budget.id}`}>{budget.name}</Link>,
    },
    { title: "Applies to", cell: ({ budget, keys }) => describeScope(budget, keys) },
    {
      title: "Amount",
      kind: "number",
      cell: ({ budget }) => formatAmount(budget.unit, budget.amount),
    },
    { title: "Period", cell: ({ budget }) => PERIODS[budget.period] },
    { title: "Used", cell: (row) => <Used {...row} /> },
    { title: "Resets", cell: ({ state }) => <ResetTime at={state?.period.ends_at ?? null} /> },
    {
      title: "Mode",
      cell: ({ budget }) =>
        budget.mode === "enforce" ? <Badge tone="accent">Enforced</Badge> : <Badge>Reported</Badge>,
    },
    {
      title: "Actions",
      kind: "actions",
      cell: ({ budget: { id, name } }) => <DuplicateLink to={`${base}/new`} id={id} name={name} />,
    },
  ];
}

function ResetTime({ at }: { readonly at: string | null }): JSX.Element {
  return at === null ? <span class="muted">Never</span> : <Time at={at} />;
}

/** With `each`, the bar is that of the subject that has used most. */
function Used({ budget, state }: BudgetWithState): JSX.Element {
  if (state === null) return <span class="muted">Unknown</span>;
  const { unit, amount } = state;
  const [highest] = state.top_spenders;
  const { spent, reserved } = hasSubjects(budget) ? (highest ?? { spent: 0, reserved: 0 }) : state;
  return (
    <div class="budget-used">
      <BudgetBar unit={unit} amount={amount} spent={spent} reserved={reserved} />
      <p class="hint">
        {hasSubjects(budget)
          ? highest === undefined
            ? "Nothing spent"
            : `Highest: ${highest.name ?? highest.subject}, ${formatAmount(unit, spent)}`
          : `${formatAmount(unit, spent)} spent, ${formatAmount(unit, state.remaining ?? 0)} left`}
      </p>
    </div>
  );
}
