// gatehouse audit: lists administrative actions, and verifies the chain of the audit log.
import { z } from "zod";
import { adminClient, CLIENT_HELP, CLIENT_OPTIONS, type AdminClient } from "./admin-client.ts";
import { parseArguments, wholeNumber } from "./arguments.ts";
import { UsageError, type Command } from "./command.ts";
import { findGateway } from "./find-gateway.ts";
import { paint, printable, table } from "./terminal.ts";

const DEFAULT_LIMIT = 20;
const MAX_LIMIT = 1000;

const entrySchema = z.looseObject({
  sequence: z.number(),
  created_at: z.string(),
  actor: z.object({ name: z.string() }).nullable(),
  address: z.string().nullable(),
  action: z.string(),
  resource: z.string().nullable(),
  resource_id: z.string().nullable(),
  name: z.string().nullable(),
  details: z.record(z.string(), z.unknown()).nullable(),
  hash: z.string(),
});
const listSchema = z.object({ audit_entries: z.array(entrySchema) });
const verificationSchema = z.object({
  valid: z.boolean(),
  entries: z.number(),
  removed: z.number(),
  sequence: z.number(),
  hash: z.string(),
  problem: z.object({ sequence: z.number(), message: z.string() }).nullable(),
});

const parseAuditArguments = (args: readonly string[]) =>
  parseArguments(args, {
    options: {
      ...CLIENT_OPTIONS,
      actor: { type: "string" },
      action: { type: "string" },
      address: { type: "string" },
      gateway: { type: "string" },
      since: { type: "string" },
      limit: { type: "string" },
      json: { type: "boolean", default: false },
    },
    maxPositionals: 1,
  });
type AuditArguments = ReturnType<typeof parseAuditArguments>;

export const audit: Command = {
  summary: "list administrative actions, or verify the audit log",
  help: `Usage: gatehouse audit [list] [--actor NAME] [--action ACTION] [--address A] [--gateway NAME|ID] [--since TIME] [--limit N]
       gatehouse audit verify

Lists administrative actions, newest first: changes, sign-ins, reads of secrets, and rejected requests. verify checks that no entry was
changed, removed, inserted, or moved, and exits with 1 if one was. Needs the role owner.

  --actor NAME   only actions of this administrator
  --action A     only actions of this kind: create, update, delete, apply, rollback, revoke, read_secrets, sign_in, sign_out, refused
  --address A    only actions from this address
  --gateway G    only actions on this gateway, by name or id
  --since TIME   only actions of this time and later, such as 2030-01-01T00:00:00Z
  --limit N      number of actions to list, 1 to ${MAX_LIMIT}; default ${DEFAULT_LIMIT}
${CLIENT_HELP}
  --json         print the entries, or the result of verify, as JSON`,
  run: async (args) => {
    const given = parseAuditArguments(args);
    const [action = "list"] = given.positionals;
    if (action !== "list" && action !== "verify")
      throw new UsageError(`there is no "audit ${action}"; give one of list, verify`);
    const client = await adminClient(given.values);
    if (action === "verify") return verify(client, given.values.json);
    console.log(await list(client, given));
    return 0;
  },
};

async function list(client: AdminClient, { values }: AuditArguments): Promise<string> {
  const limit = wholeNumber("--limit", values.limit, DEFAULT_LIMIT, { min: 1, max: MAX_LIMIT });
  const gateway = values.gateway === undefined ? undefined : await findGateway(client, values.gateway);
  const query = new URLSearchParams({ limit: String(limit) });
  const { actor, action, address, since } = values;
  for (const [name, value] of Object.entries({ actor, action, address, since, gateway_id: gateway?.id }))
    if (value !== undefined) query.set(name, value);
  const { audit_entries } = await client.get(`/audit?${query.toString()}`, listSchema);
  if (values.json) return JSON.stringify(audit_entries);
  if (audit_entries.length === 0) return "there is no such action";
  const rows = audit_entries.map((entry) => [
    String(entry.sequence),
    entry.created_at,
    entry.actor?.name ?? "",
    entry.address ?? "",
    entry.action,
    aboutOf(entry),
  ]);
  return table(
    ["NUMBER", "TIME", "BY", "ADDRESS", "ACTION", "ABOUT"],
    rows.map((row) => row.map(printable)),
  );
}

function aboutOf({ action, resource, name, resource_id, details }: z.output<typeof entrySchema>): string {
  if (action === "refused") return `${String(details?.["count"])} requests`;
  return [resource, name ?? resource_id].filter((part) => part !== null).join(" ");
}

async function verify(client: AdminClient, json: boolean): Promise<number> {
  const result = await client.get("/audit/verification", verificationSchema);
  const { valid, entries, removed, sequence, hash, problem } = result;
  if (json) console.log(JSON.stringify(result));
  else if (problem === null) {
    const before = removed === 0 ? "" : `, after ${removed} that were removed by AUDIT_KEPT`;
    console.log(
      `${paint("green", "valid")}: ${entries} entries${before}; the newest is ${sequence} with the hash ${hash}`,
    );
  } else console.log(`${paint("red", "not valid")}: entry ${problem.sequence} ${problem.message}`);
  return valid ? 0 : 1;
}
