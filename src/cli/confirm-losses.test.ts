// The question before recorded figures are lost, on a terminal.
import { expect, test } from "bun:test";
import { PassThrough } from "node:stream";
import { z } from "zod";
import { RejectedRequest, type AdminClient } from "./admin-client.ts";
import { postConfirmed } from "./confirm-losses.ts";

const stateSchema = z.object({ spent: z.string() });

/** A server that has spent `spent` of a budget, and a terminal on which `answer` is typed. */
function planned(spent: readonly string[], answer: string | null) {
  const figures = [...spent];
  const paths: string[] = [];
  const client: Pick<AdminClient, "post"> = {
    post: async (path, _, schema) => {
      await Promise.resolve();
      paths.push(path);
      const [now = "0.00"] = figures;
      if (path.endsWith("?dry_run=true"))
        return schema.parse({ losses: now === "0.00" ? {} : { budget_spent_usd: now }, confirm: `c${now}` });
      figures.shift();
      if (figures.length > 0) throw new RejectedRequest("changed", [], "confirmation_required");
      return schema.parse({ spent: "0.00" });
    },
  };
  const input = Object.assign(new PassThrough(), { isTTY: answer !== null });
  if (answer !== null) input.end(answer);
  const output = new PassThrough();
  const reset = (flags: Partial<Parameters<typeof postConfirmed>[4]> = {}) =>
    postConfirmed(
      client,
      "/reset",
      {},
      stateSchema,
      { yes: false, "dry-run": false, json: false, ...flags },
      { input, output },
    );
  return { reset, paths, printed: () => String(output.read() ?? "") };
}

const DONE = { response: { spent: "0.00" } };

test("a yes runs the call with the digest of the plan that was printed", async () => {
  for (const answer of ["y\n", "Yes\n"]) {
    const { reset, paths, printed } = planned(["0.05"], answer);
    expect(await reset()).toEqual(DONE);
    expect(paths).toEqual(["/reset?dry_run=true", "/reset?confirm=c0.05"]);
    expect(printed()).toContain("this would lose budget_spent_usd 0.05. Continue? [y/N]");
  }
});

test("anything else, and the end of the input, change nothing", async () => {
  for (const answer of ["n\n", "\n", "yesterday\n", ""]) {
    const { reset, paths } = planned(["0.05"], answer);
    expect(reset()).rejects.toThrow("not confirmed; nothing was changed");
    await Promise.resolve();
    expect(paths).toEqual(["/reset?dry_run=true"]);
  }
});

test("without a terminal --yes is required, unless nothing is lost", async () => {
  const { reset, paths } = planned(["0.05"], null);
  expect(reset()).rejects.toThrow("this would lose budget_spent_usd 0.05; give --yes to do it");
  expect(paths).toEqual(["/reset?dry_run=true"]);
  expect(await planned(["0.05"], null).reset({ yes: true })).toEqual(DONE);
  expect(await planned(["0.00"], null).reset()).toEqual(DONE);
});

test("--yes confirms again what has grown meanwhile, a few times", async () => {
  const { reset, paths } = planned(["0.05", "0.50"], null);
  expect(await reset({ yes: true })).toEqual(DONE);
  expect(paths.at(-1)).toBe("/reset?confirm=c0.50");
  expect(planned(["1", "2", "3", "4", "5", "6"], null).reset({ yes: true })).rejects.toThrow("changed");
});

test("--dry-run prints the plan only", async () => {
  const { reset, paths } = planned(["0.05"], null);
  expect(await reset({ "dry-run": true })).toEqual({ plan: "this would lose budget_spent_usd 0.05" });
  expect(await reset({ "dry-run": true, json: true })).toEqual({
    plan: '{"losses":{"budget_spent_usd":"0.05"},"confirm":"c0.05"}',
  });
  expect(paths.every((path) => path.endsWith("dry_run=true"))).toBe(true);
});
