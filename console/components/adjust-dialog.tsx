// Dialog that adds to what is spent of a budget, or subtracts from it, and shows the result before it is confirmed.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { ApiError } from "../api/client.ts";
import type { Budget, BudgetState, LossPlan } from "../api/types.ts";
import { TextField } from "../forms/inputs.tsx";
import { formatUnits, parseAmount } from "../state/amounts.ts";
import { hasSubjects } from "../state/budgets.ts";
import { showToast } from "../state/dialogs.ts";
import { fetchPlan, lossesText, postConfirmed } from "../state/losses.ts";
import { useForm } from "../state/form.ts";
import { Button } from "./button.tsx";
import { Dialog } from "./dialog.tsx";
import { Notice } from "./notice.tsx";

interface AdjustDialogProps {
  /** API path of the budget. */
  readonly path: string;
  readonly budget: Budget;
  readonly spenders: BudgetState["top_spenders"];
  /** The subject to select; empty for none. */
  readonly subject: string;
  readonly onClose: (isDone: boolean) => void;
}

export function AdjustDialog({ path, budget, spenders, subject, onClose }: AdjustDialogProps): JSX.Element {
  const form = useForm({ subject, amount: "" }, { warnOnLeave: false });
  const { amount, subject: chosen } = form.value;
  const body = { amount: amount.trim(), ...(hasSubjects(budget) && { subject: chosen }) };
  const { losses, send } = useConfirmedPost(`${path}/adjust`, body);
  const submit = async () => {
    let isAdjusted = false;
    await form.submit(async () => (isAdjusted = await send()));
    if (!isAdjusted) return;
    showToast(`Adjusted budget “${budget.name}”.`);
    onClose(true);
  };
  const preview = describeResult(budget, spenders, form.value);
  return (
    <Dialog title={`Adjust budget “${budget.name}”`} onClose={() => onClose(false)}>
      <form
        class="fields"
        noValidate
        onSubmit={(event) => {
          event.preventDefault();
          if (!form.isBusy) void submit();
        }}
      >
        {form.error !== null && form.details.length === 0 && (
          <Notice kind="error">
            <p>{form.error.message}</p>
          </Notice>
        )}
        {hasSubjects(budget) && (
          <TextField
            form={form}
            path="subject"
            label="Subject"
            isRequired
            isMono
            suggestions={spenders.map((each) => each.subject)}
            hint="Id of the API key, value of the label, user, or model."
          />
        )}
        <TextField
          form={form}
          path="amount"
          label="Add to what is spent"
          isRequired
          placeholder={budget.unit === "usd" ? "-5.00" : "-1000"}
          hint={`${budget.unit === "usd" ? "US dollars" : "Tokens"}. A negative number gives more.`}
        />
        <p role="status">{preview}</p>
        {losses !== null && (
          <Notice kind="warning">
            <p>This overwrites a recorded figure: {losses}.</p>
          </Notice>
        )}
        <div class="actions end">
          <Button onClick={() => onClose(false)}>Cancel</Button>
          <Button submit kind="primary" isBusy={form.isBusy}>
            {losses === null ? "Adjust" : "Overwrite"}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}

/**
 * Returns the losses that are shown, and a function that sends the call. A call with losses that are not
 * shown yet is not sent: its losses are shown instead. Resolves to whether the call has succeeded.
 */
function useConfirmedPost(path: string, body: object) {
  const of = JSON.stringify(body);
  const [shown, setShown] = useState<{ readonly plan: LossPlan; readonly of: string } | null>(null);
  // A plan is only that of the call that it was made for.
  const plan = shown?.of === of ? shown.plan : null;
  const send = async (): Promise<boolean> => {
    const known = plan ?? (await fetchPlan(path, body));
    if (plan === null && lossesText(known.losses) !== null) {
      setShown({ plan: known, of });
      return false;
    }
    try {
      await postConfirmed(path, body, known);
      return true;
    } catch (error) {
      if (!(error instanceof ApiError) || error.plan === null) throw error;
      setShown({ plan: error.plan, of });
      return false;
    }
  };
  return { losses: plan === null ? null : lossesText(plan.losses), send };
}

/** Returns what the adjustment results in, as a sentence. */
function describeResult(
  { unit }: Budget,
  spenders: BudgetState["top_spenders"],
  value: { readonly subject: string; readonly amount: string },
): string {
  const change = parseAmount(unit, value.amount);
  const before = parseAmount(unit, spenders.find(({ subject }) => subject === value.subject)?.spent ?? 0);
  if (change === null || before === null) return "The audit log records the change.";
  const after = before + change < 0n ? 0n : before + change;
  return `Spent: ${formatUnits(unit, before)} → ${formatUnits(unit, after)}. The audit log records the change.`;
}
