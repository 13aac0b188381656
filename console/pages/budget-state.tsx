// State of one budget in the current period: spent, reserved, remaining, and who has spent most. Resets and adjusts it.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { get } from "../api/client.ts";
import { childPath, listKeys } from "../api/resources.ts";
import type { Budget, BudgetState } from "../api/types.ts";
import { AdjustDialog } from "../components/adjust-dialog.tsx";
import { BudgetBar } from "../components/budget-bar.tsx";
import { Button, LinkButton } from "../components/button.tsx";
import { Time } from "../components/format.tsx";
import { Page, Section, WhenLoaded } from "../components/page.tsx";
import { Table } from "../components/table.tsx";
import { mayCall } from "../state/administrator.ts";
import { formatAmount } from "../state/amounts.ts";
import { describeScope, hasSubjects, PERIODS } from "../state/budgets.ts";
import { showToast } from "../state/dialogs.ts";
import { confirmLosses } from "../state/losses.ts";
import { usePoll } from "../state/load.ts";
import type { RoutedPageProps } from "../state/router.tsx";

const POLL_MS = 5000;

type Spender = BudgetState["top_spenders"][number];

export function BudgetStatePage({ parameters }: RoutedPageProps): JSX.Element {
  const { gateway = "", id = "" } = parameters;
  const path = childPath(gateway, "budgets", { id });
  const loaded = usePoll(
    async (signal) => {
      const [budget, state, keys] = await Promise.all([
        get<Budget>(path, signal),
        get<BudgetState>(`${path}/state`, signal),
        listKeys(gateway, signal),
      ]);
      return { budget, state, keys };
    },
    POLL_MS,
    [],
  );
  const budget = loaded.data?.budget;
  const list = `/gateways/${gateway}/budgets`;
  return (
    <Page
      title={budget?.name ?? "Budget"}
      back={{ to: list, label: "Budgets" }}
      {...(loaded.data !== undefined && { description: describe(loaded.data) })}
      actions={
        <LinkButton to={`${list}/${id}/edit`}>
          {mayCall(`PUT ${path}`) ? "Edit budget" : "Show settings"}
        </LinkButton>
      }
    >
      <WhenLoaded loaded={loaded} what="budget">
        {(data) => <StateView path={path} budget={data.budget} state={data.state} reload={loaded.reload} />}
      </WhenLoaded>
    </Page>
  );
}

function describe({ budget, keys }: { budget: Budget; keys: Parameters<typeof describeScope>[1] }): string {
  const { unit, amount, period, mode } = budget;
  const per = period === "total" ? "in total" : `per ${PERIODS[period].toLowerCase()}`;
  return [
    `${formatAmount(unit, amount)} ${per}.`,
    `${describeScope(budget, keys)}.`,
    mode === "enforce"
      ? "Requests that do not fit are rejected."
      : "Requests that do not fit are only reported.",
  ].join(" ");
}

interface StateViewProps {
  /** API path of the budget. */
  readonly path: string;
  readonly budget: Budget;
  readonly state: BudgetState;
  readonly reload: () => void;
}

function StateView({ path, budget, state, reload }: StateViewProps): JSX.Element {
  const [adjusted, setAdjusted] = useState<Spender | "new" | null>(null);
  const { unit, amount, spent, reserved, remaining } = state;
  const reset = async (subject?: string) => {
    const isDone = await confirmLosses(`${path}/reset`, subject === undefined ? {} : { subject }, {
      title: subject === undefined ? `Reset budget “${budget.name}”?` : `Reset “${subject}”?`,
      text:
        (hasSubjects(budget) && subject === undefined
          ? "Nothing is spent any more of any amount of this budget. "
          : "Nothing is spent any more in the current period. ") +
        "What requests in progress have reserved stays. The audit log records it. This cannot be undone.",
      confirm: "Reset",
    });
    if (!isDone) return;
    showToast(`Reset budget “${budget.name}”.`);
    reload();
  };
  const figures: readonly (readonly [title: string, value: string])[] = [
    ["Spent", formatAmount(unit, spent)],
    ["Reserved", formatAmount(unit, reserved)],
    ...(remaining === null ? [] : [["Remaining", formatAmount(unit, remaining)] as const]),
  ];
  return (
    <>
      <section class="card budget-state" aria-label="Current period">
        <dl class="stats">
          {figures.map(([title, value]) => (
            <div key={title}>
              <dt>{title}</dt>
              <dd>{value}</dd>
            </div>
          ))}
          <PeriodFigures period={state.period} timezone={budget.timezone} />
        </dl>
        {!hasSubjects(budget) && <BudgetBar unit={unit} amount={amount} spent={spent} reserved={reserved} />}
        <div class="actions">
          <Button operation={`POST ${path}/adjust`} onClick={() => setAdjusted("new")}>
            Adjust
          </Button>
          <Button kind="danger" operation={`POST ${path}/reset`} onClick={() => void reset()}>
            Reset
          </Button>
        </div>
      </section>
      {hasSubjects(budget) && (
        <TopSpenders
          path={path}
          state={state}
          onAdjust={setAdjusted}
          onReset={({ subject }) => void reset(subject)}
        />
      )}
      {adjusted !== null && (
        <AdjustDialog
          path={path}
          budget={budget}
          spenders={hasSubjects(budget) ? state.top_spenders : [{ subject: "", name: null, spent, reserved }]}
          subject={adjusted === "new" ? "" : adjusted.subject}
          onClose={(isDone) => {
            setAdjusted(null);
            if (isDone) reload();
          }}
        />
      )}
    </>
  );
}

function PeriodFigures(props: {
  readonly period: BudgetState["period"];
  readonly timezone: string;
}): JSX.Element {
  const { starts_at, ends_at } = props.period;
  return (
    <>
      <div>
        <dt>Since</dt>
        <dd>{starts_at === null ? "The last reset" : <Time at={starts_at} />}</dd>
      </div>
      <div>
        <dt>Resets</dt>
        <dd>{ends_at === null ? "Never" : <Time at={ends_at} />}</dd>
      </div>
      <div>
        <dt>Time zone</dt>
        <dd>{props.timezone}</dd>
      </div>
    </>
  );
}

interface TopSpendersProps {
  readonly path: string;
  readonly state: BudgetState;
  readonly onAdjust: (spender: Spender) => void;
  readonly onReset: (spender: Spender) => void;
}

function TopSpenders({ path, state, onAdjust, onReset }: TopSpendersProps): JSX.Element {
  const { unit, amount, top_spenders } = state;
  const nameOf = ({ name, subject }: Spender) => name ?? (subject === "*" ? "All others together" : subject);
  return (
    <Section
      title="Top spenders"
      description={`Each has ${formatAmount(unit, amount)}. The ten who used most are shown.`}
    >
      {top_spenders.length === 0 ? (
        <p class="muted">Nothing is spent in this period.</p>
      ) : (
        <Table
          label="Top spenders"
          rows={top_spenders}
          keyOf={({ subject }) => subject}
          columns={[
            { title: "Name", kind: "main", cell: nameOf },
            { title: "Spent", kind: "number", cell: ({ spent }) => formatAmount(unit, spent) },
            { title: "Reserved", kind: "number", cell: ({ reserved }) => formatAmount(unit, reserved) },
            {
              title: "Used",
              cell: ({ spent, reserved }) => (
                <BudgetBar unit={unit} amount={amount} spent={spent} reserved={reserved} />
              ),
            },
            {
              title: "Actions",
              kind: "actions",
              cell: (spender) => (
                <>
                  <Button
                    kind="quiet"
                    operation={`POST ${path}/adjust`}
                    label={`Adjust ${nameOf(spender)}`}
                    onClick={() => onAdjust(spender)}
                  >
                    Adjust
                  </Button>
                  <Button
                    kind="quiet"
                    operation={`POST ${path}/reset`}
                    label={`Reset ${nameOf(spender)}`}
                    onClick={() => onReset(spender)}
                  >
                    Reset
                  </Button>
                </>
              ),
            },
          ]}
        />
      )}
    </Section>
  );
}
