// gatehouse rollback: restores the whole configuration as of a revision, or prints what that would change.
import { z } from "zod";
import { adminClient, CLIENT_HELP, CLIENT_OPTIONS, type AdminClient } from "./admin-client.ts";
import { parseArguments } from "./arguments.ts";
import { recordChangesSchema, recordLines } from "./change-lines.ts";
import type { Command } from "./command.ts";
import { findGateway } from "./find-gateway.ts";
import { Progress } from "./progress.ts";
import { leftOutLines, listRevisions, revisionNumber } from "./revision-records.ts";
import { paint, printable } from "./terminal.ts";

const rollbackSchema = z.object({
  revision: z.int(),
  not_undone: z.array(z.object({ api_key_id: z.string(), name: z.string(), reason: z.string() })),
});
const dryRunSchema = rollbackSchema.extend({ records: recordChangesSchema, left_out: z.int() });

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

export const rollback: Command = {
  summary: "restore the configuration as of a revision",
  help: `Usage: gatehouse rollback N [--gateway NAME|ID] [--dry-run] [--json] [--url URL] [--token TOKEN]

Restores the whole configuration as of revision N, or that of one gateway, as a new revision. Revoked API keys remain revoked,
and rotated ones keep their new key.

  --gateway G    restore only this gateway; the id of one that was deleted restores it
  --dry-run      print what would change, and change nothing
${CLIENT_HELP}
  --json         print {"revision", "not_undone"}; with --dry-run, also "records" and "left_out", as gatehouse diff`,
  run: async (args) => {
    const { values, positionals } = parseArguments(args, {
      options: {
        ...CLIENT_OPTIONS,
        gateway: { type: "string" },
        "dry-run": { type: "boolean", default: false },
        json: { type: "boolean", default: false },
      },
      maxPositionals: 1,
    });
    const number = revisionNumber("N", positionals[0]);
    const client = await adminClient(values);
    const gatewayId = values.gateway === undefined ? null : await gatewayIdOf(client, values.gateway);
    const run = values["dry-run"] ? tryRollback : rollBack;
    console.log(await run(client, number, gatewayId, values.json));
    return 0;
  },
};

/** A gateway that was deleted is not found by its id. */
async function gatewayIdOf(client: AdminClient, nameOrId: string): Promise<string> {
  return UUID.test(nameOrId) ? nameOrId : (await findGateway(client, nameOrId)).id;
}

function pathOf(number: number, gatewayId: string | null, isDryRun: boolean): string {
  const query = new URLSearchParams({
    ...(gatewayId !== null && { gateway_id: gatewayId }),
    ...(isDryRun && { dry_run: "true" }),
  });
  return `/revisions/${number}/rollback${query.size === 0 ? "" : `?${query.toString()}`}`;
}

async function rollBack(
  client: AdminClient,
  number: number,
  gatewayId: string | null,
  isJson: boolean,
): Promise<string> {
  const [newest] = await listRevisions(client, { limit: 1 });
  const work = () => client.post(pathOf(number, gatewayId, false), undefined, rollbackSchema);
  const rolledBack = await new Progress().waiting("rolling back", work);
  if (isJson) return JSON.stringify(rolledBack);
  const { revision } = rolledBack;
  const result =
    revision === newest?.revision
      ? nothingToRestore(revision, number)
      : `rolled back to revision ${number}; the new revision is ${revision}`;
  return [result, ...notUndoneLines(rolledBack)].join("\n");
}

async function tryRollback(
  client: AdminClient,
  number: number,
  gatewayId: string | null,
  isJson: boolean,
): Promise<string> {
  const work = () => client.post(pathOf(number, gatewayId, true), undefined, dryRunSchema);
  const planned = await new Progress().waiting("comparing", work);
  if (isJson) return JSON.stringify(planned);
  const { revision, records, left_out } = planned;
  if (records.length === 0)
    return [nothingToRestore(revision, number), ...notUndoneLines(planned)].join("\n");
  return [
    paint("bold", `changes by a rollback to revision ${number}`),
    ...records.flatMap(recordLines),
    ...leftOutLines(left_out),
    ...notUndoneLines(planned),
    "Dry run: nothing was changed.",
  ].join("\n");
}

function nothingToRestore(revision: number, number: number): string {
  return `nothing to restore: revision ${revision} has the configuration of revision ${number}`;
}

function notUndoneLines({ not_undone }: z.output<typeof rollbackSchema>): string[] {
  return not_undone.map(({ api_key_id, name, reason }) =>
    paint("yellow", printable(`not undone: API key "${name}" (${api_key_id}) was ${reason}`)),
  );
}
