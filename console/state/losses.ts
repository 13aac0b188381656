// Calls that lose something recorded: asks the API what would be lost, shows it, and confirms exactly that.
import { ApiError, call, toError } from "../api/client.ts";
import type { LossPlan } from "../api/types.ts";
import { formatAmount } from "./amounts.ts";
import { confirmAction, showToast, type Confirmation } from "./dialogs.ts";

type Losses = LossPlan["losses"];

const TEXTS: Readonly<Record<keyof Losses, (figure: string | number) => string>> = {
  budget_spent_usd: (figure) => `${formatAmount("usd", figure)} recorded as spent`,
  budget_spent_tokens: (figure) => `${formatAmount("tokens", figure)} recorded as spent`,
};

/** Returns what would be lost; null if that is nothing. */
export function lossesText(losses: Losses): string | null {
  const texts = Object.entries(losses).map(([kind, figure]) =>
    kind in TEXTS ? TEXTS[kind as keyof Losses](figure) : `${kind} ${figure}`,
  );
  return texts.length === 0 ? null : texts.join(", ");
}

export async function fetchPlan(path: string, body: unknown): Promise<LossPlan> {
  return (await call<LossPlan>("POST", `${path}?dry_run=true`, { body })).data;
}

export function postConfirmed(path: string, body: unknown, { confirm }: LossPlan): Promise<unknown> {
  return call("POST", `${path}?confirm=${encodeURIComponent(confirm)}`, { body });
}

/**
 * Asks with the losses, and sends the call. Resolves to whether it has succeeded. If the figures change
 * meanwhile, it asks again.
 */
export async function confirmLosses(
  path: string,
  body: unknown,
  confirmation: Pick<Confirmation, "title" | "text" | "confirm">,
): Promise<boolean> {
  const asking = (plan: LossPlan, intro: string): Confirmation => {
    const losses = lossesText(plan.losses);
    const lost = losses === null ? "" : ` This loses: ${losses}.`;
    return {
      ...confirmation,
      text: `${intro}${confirmation.text}${lost}`,
      isDangerous: true,
      action: () => postConfirmed(path, body, plan),
      escalate: (error) => {
        const changed = error instanceof ApiError ? error.plan : null;
        return changed === null ? null : asking(changed, "The figures have changed. ");
      },
    };
  };
  try {
    return await confirmAction(asking(await fetchPlan(path, body), ""));
  } catch (error) {
    showToast(toError(error).message, "error");
    return false;
  }
}
