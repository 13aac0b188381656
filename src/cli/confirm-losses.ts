// Calls that lose something recorded: prints what would be lost, and asks on a terminal or needs --yes.
import { createInterface } from "node:readline/promises";
import { z } from "zod";
import { RejectedRequest, type AdminClient } from "./admin-client.ts";
import { printable } from "./terminal.ts";

const amount = z.union([z.string(), z.number()]);
const planSchema = z.object({ losses: z.record(z.string(), amount), confirm: z.string() });
type Plan = z.output<typeof planSchema>;

export const CONFIRM_OPTIONS = {
  yes: { type: "boolean", default: false },
  "dry-run": { type: "boolean", default: false },
} as const;

export const CONFIRM_HELP = `  --yes          reset, adjust: do not ask before recorded figures are lost
  --dry-run      reset, adjust: only print what would be lost`;

/** A figure may have grown since the plan was made. With --yes the caller accepts that of the next plan. */
const MAX_PLANS = 5;

interface Confirmation {
  readonly yes: boolean;
  readonly "dry-run": boolean;
  readonly json: boolean;
}

/** Where a question is asked. */
interface Asking {
  readonly input: NodeJS.ReadableStream & { readonly isTTY?: boolean };
  readonly output: NodeJS.WritableStream;
}

const TERMINAL: Asking = { input: process.stdin, output: process.stderr };

/**
 * Sends a call that may lose something recorded. Resolves to the response, or with --dry-run to the text of
 * the plan. Throws if the losses are not confirmed.
 */
export async function postConfirmed<T>(
  client: Pick<AdminClient, "post">,
  path: string,
  body: unknown,
  schema: z.ZodType<T>,
  flags: Confirmation,
  asking = TERMINAL,
): Promise<{ readonly response: T } | { readonly plan: string }> {
  for (let number = 1; ; number++) {
    const plan = await client.post(`${path}?dry_run=true`, body, planSchema);
    if (flags["dry-run"]) return { plan: flags.json ? JSON.stringify(plan) : planText(plan) };
    if (!flags.yes && hasLosses(plan)) await ask(plan, asking);
    try {
      const digest = encodeURIComponent(plan.confirm);
      return { response: await client.post(`${path}?confirm=${digest}`, body, schema) };
    } catch (error) {
      const hasChanged = error instanceof RejectedRequest && error.code === "confirmation_required";
      if (!hasChanged || number === MAX_PLANS) throw error;
    }
  }
}

function hasLosses({ losses }: Plan): boolean {
  return Object.keys(losses).length > 0;
}

function planText(plan: Plan): string {
  return hasLosses(plan) ? `this would lose ${lossesText(plan)}` : "this would lose nothing that is recorded";
}

function lossesText({ losses }: Plan): string {
  return Object.entries(losses)
    .map(([kind, figure]) => `${printable(kind)} ${printable(String(figure))}`)
    .join(", ");
}

async function ask(plan: Plan, { input, output }: Asking): Promise<void> {
  if (input.isTTY !== true) throw new Error(`${planText(plan)}; give --yes to do it`);
  const lines = createInterface({ input, output });
  try {
    // At the end of the input there is no answer.
    const ended = new Promise<string>((resolve) => void lines.once("close", () => resolve("")));
    const answer = await Promise.race([lines.question(`${planText(plan)}. Continue? [y/N] `), ended]);
    if (!/^y(es)?$/i.test(answer.trim())) throw new Error("not confirmed; nothing was changed");
  } finally {
    lines.close();
  }
}
