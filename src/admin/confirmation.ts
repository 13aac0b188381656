// Operations that lose something that is recorded: they show what would be lost, and run when the caller
// confirms that.
import { createHash, timingSafeEqual } from "node:crypto";
import { z } from "zod";
import { dollarsOf } from "../base/decimal.ts";
import { GatehouseError } from "../base/errors.ts";
import type { JsonObject } from "../base/json.ts";
import type { AuditSubject } from "../store/audit.ts";
import { addOperation, type Call, type Operation, type RouteTable } from "./operation.ts";

/** Everything that an operation can lose. The unit is part of the name. */
const LOSS_KINDS = {
  budget_spent_usd: {
    description: "US dollars that a budget has counted as spent in the current period.",
    show: dollarsOf,
  },
  budget_spent_tokens: {
    description: "Tokens that a budget has counted as spent in the current period.",
    show: (amount: number) => amount,
  },
} as const satisfies Record<
  string,
  { readonly description: string; readonly show: (amount: number) => string | number }
>;

type LossKind = keyof typeof LOSS_KINDS;

interface Loss {
  readonly kind: LossKind;
  /** An integer: nano-dollars for dollars. */
  readonly amount: number;
  /** How much more may be lost than was shown without being material, if that is more than MAX_GROWTH. */
  readonly slack: number;
}

export interface LossPlan {
  /**
   * Belongs to the plan besides the request itself, such as the period of a budget: another one is another
   * plan.
   */
  readonly scope: string;
  readonly losses: readonly Loss[];
}

/** Losses by kind, as responses show them. */
type ShownLosses = Readonly<Record<string, string | number>>;

/** The share by which a figure may grow between plan and call: a busy budget never stands still. */
const MAX_GROWTH = 0.1;

const lossField = z.union([z.string(), z.number()]);
const lossesSchema = z.strictObject({
  budget_spent_usd: lossField.optional().meta({ description: LOSS_KINDS.budget_spent_usd.description }),
  budget_spent_tokens: lossField.optional().meta({ description: LOSS_KINDS.budget_spent_tokens.description }),
} satisfies Record<LossKind, z.ZodType>);
const confirmField = z.string().meta({ description: "Digest of the plan. Send it as `?confirm=`." });

export const lossPlanSchema = z.object({
  losses: lossesSchema.meta({
    description: "Figures that the call would lose. Empty: it needs no confirmation.",
  }),
  confirm: confirmField,
});

export const confirmationRequiredSchema = z.object({
  error: z.string(),
  code: z.literal("confirmation_required"),
  request_id: z.string(),
  ...lossPlanSchema.shape,
});

const confirmQuery = z.strictObject({
  confirm: z.string().max(256).optional().meta({
    description:
      "The `confirm` of the plan: run although the call loses what the plan shows. A plan that has changed since is 409 again.",
  }),
  dry_run: z
    .enum(["true", "false"])
    .default("false")
    .meta({ description: "Return the plan (LossPlan) only." }),
});
type ConfirmParameters = z.output<typeof confirmQuery>;

/** A change as the audit log names it. */
interface LossyChange extends AuditSubject {
  readonly details: JsonObject;
}

interface LossyOperation extends Omit<Operation<ConfirmParameters>, "query" | "handle" | "losesRecords"> {
  /** Validates the request, too. */
  readonly plan: (call: Call<unknown>) => Promise<LossPlan>;
  readonly change: (call: Call<unknown>) => LossyChange;
  readonly apply: (call: Call<unknown>) => Promise<void>;
  readonly respond: (call: Call<unknown>) => Promise<Response>;
}

/** Adds an operation that runs at once only if nothing recorded would be lost. */
export function addLossyOperation(
  table: RouteTable,
  { plan, change, apply, respond, ...operation }: LossyOperation,
): void {
  addOperation(table, {
    ...operation,
    query: confirmQuery,
    losesRecords: true,
    handle: async (call) => {
      for (;;) {
        // Before the figures are read: a change in between is noticed.
        const last = await call.caller.audit.lastChangeOf(change(call));
        const { scope, losses } = await plan(call);
        const real = losses.filter(({ amount }) => amount > 0);
        const body = Object.entries(call.body).sort(([one], [other]) => (one < other ? -1 : 1));
        // A plan that was carried out is another one afterwards, even if as much is recorded again.
        const parts = [operation.method, operation.path, call.params, body, scope, last];
        const subject = JSON.stringify(parts);
        const shown = Object.fromEntries(
          real.map(({ kind, amount }) => [kind, LOSS_KINDS[kind].show(amount)]),
        );
        const confirm = confirmationOf(subject, real);
        if (call.query.dry_run === "true") return Response.json({ losses: shown, confirm });
        if (real.length > 0 && !isConfirmed(call.query.confirm, subject, real))
          throw confirmationRequired(shown, confirm, call.query.confirm !== undefined);
        // Of several calls with one plan, one is recorded. The others see that their plan has changed.
        if (await applyOnce(call, change(call), shown, last, apply)) return respond(call);
      }
    },
  });
}

/**
 * Records the change, then makes it: on all nodes, only one call can be recorded after the same last one.
 * Resolves to false if another one was. A change that fails is recorded again, as failed.
 */
async function applyOnce(
  call: Call<unknown>,
  { details, ...subject }: LossyChange,
  lost: ShownLosses,
  last: number,
  apply: LossyOperation["apply"],
): Promise<boolean> {
  const { audit, origin } = call.caller;
  const event = { ...origin, ...subject, action: "update" as const, name: null, revision: null };
  if (!(await audit.recordAfter(last, { ...event, details: { ...details, lost } }))) return false;
  try {
    await apply(call);
  } catch (error) {
    await audit.record({ ...event, details: { ...details, failed: true } });
    throw error;
  }
  return true;
}

function confirmationRequired(losses: ShownLosses, confirm: string, isStale: boolean): GatehouseError {
  const figures = Object.entries(losses).map(([kind, amount]) => `${kind} ${amount}`);
  const reason = isStale ? "The plan has changed since it was confirmed: the" : "The";
  return new GatehouseError(
    "confirmation_required",
    `${reason} call would lose ${figures.join(", ")}. Repeat it with ?confirm=${confirm} if that is intended.`,
    { fields: { losses, confirm } },
  );
}

/** The amounts, and a digest of them and of everything else in the plan. */
function confirmationOf(subject: string, losses: readonly Pick<Loss, "kind" | "amount">[]): string {
  const amounts = losses.map(({ amount }) => amount).join("-");
  const kinds = losses.map(({ kind }) => kind);
  const digest = createHash("sha256")
    .update(JSON.stringify([subject, kinds, amounts]))
    .digest("hex");
  return `${amounts}.${digest.slice(0, 32)}`;
}

/**
 * Whether `confirm` is of a plan with the same kinds, whose amounts were not above those of now, and not
 * materially below. An amount that has become smaller is another plan: somebody else has changed it, or the
 * call is repeated.
 */
function isConfirmed(confirm: string | undefined, subject: string, losses: readonly Loss[]): boolean {
  const [, text] = /^(\d{1,16}(?:-\d{1,16})*)\./.exec(confirm ?? "") ?? [];
  const amounts = text?.split("-").map(Number) ?? [];
  if (confirm === undefined || amounts.length !== losses.length) return false;
  const planned = losses.map(({ kind }, at) => ({ kind, amount: amounts[at] ?? 0 }));
  if (!isEqual(confirm, confirmationOf(subject, planned))) return false;
  return losses.every(({ amount, slack }, at) => {
    const before = amounts[at] ?? 0;
    return before <= amount && amount <= before + Math.max(Math.floor(before * MAX_GROWTH), slack);
  });
}

function isEqual(one: string, other: string): boolean {
  return one.length === other.length && timingSafeEqual(Buffer.from(one), Buffer.from(other));
}
