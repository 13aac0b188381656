// gatehouse revisions: lists the changes of the configuration, and shows one of them with its changed fields.
import { adminClient, CLIENT_HELP, CLIENT_OPTIONS, type AdminClient } from "./admin-client.ts";
import { parseArguments, wholeNumber } from "./arguments.ts";
import { changeLine } from "./change-lines.ts";
import { UsageError, type Command } from "./command.ts";
import { findGateway } from "./find-gateway.ts";
import {
  getRevision,
  leftOutLines,
  listRevisions,
  revisionNumber,
  type RevisionRecord,
} from "./revision-records.ts";
import { fields, paint, printable, table } from "./terminal.ts";

const DEFAULT_LIMIT = 20;
const MAX_LIMIT = 1000;

const parseRevisionArguments = (args: readonly string[]) =>
  parseArguments(args, {
    options: {
      ...CLIENT_OPTIONS,
      gateway: { type: "string" },
      limit: { type: "string" },
      json: { type: "boolean", default: false },
    },
    maxPositionals: 2,
  });
type RevisionArguments = ReturnType<typeof parseRevisionArguments>;

export const revisions: Command = {
  summary: "list the changes of the configuration, or show one of them",
  help: `Usage: gatehouse revisions [list] [--gateway NAME|ID] [--limit N]
       gatehouse revisions show N

Lists the changes of the configuration, newest first, or shows revision N with its changed fields. Credentials are masked.

  --gateway G    only changes of this gateway, by name or id; default all
  --limit N      number of revisions to list, 1 to ${MAX_LIMIT}; default ${DEFAULT_LIMIT}
${CLIENT_HELP}
  --json         print the records as JSON`,
  run: async (args) => {
    const given = parseRevisionArguments(args);
    const [action = "list", argument] = given.positionals;
    if (action !== "list" && action !== "show")
      throw new UsageError(`there is no "revisions ${action}"; give one of list, show`);
    if (action === "list" && argument !== undefined)
      throw new UsageError(`unexpected argument "${argument}"; remove it, or see --help`);
    const run = action === "list" ? list(given) : show(given);
    console.log(await run(await adminClient(given.values)));
    return 0;
  },
};

function list({ values }: RevisionArguments): (client: AdminClient) => Promise<string> {
  const limit = wholeNumber("--limit", values.limit, DEFAULT_LIMIT, { min: 1, max: MAX_LIMIT });
  return async (client) => {
    const gateway = values.gateway === undefined ? null : await findGateway(client, values.gateway);
    const found = await listRevisions(client, { limit, ...(gateway !== null && { gateway_id: gateway.id }) });
    if (values.json) return JSON.stringify(found);
    if (found.length === 0) return "there is no revision yet";
    return table(["REVISION", "TIME", "BY", "ACTION", "RESOURCE", "NAME"], found.map(rowOf));
  };
}

function rowOf({ revision, created_at, subject, action, resource, name }: RevisionRecord): string[] {
  return [String(revision), created_at, subject ?? "", action, resource, name ?? ""].map(printable);
}

function show({ values, positionals }: RevisionArguments): (client: AdminClient) => Promise<string> {
  const number = revisionNumber("N", positionals[1]);
  return async (client) => {
    const found = await getRevision(client, number);
    if (values.json) return JSON.stringify(found);
    const about = [found.resource, found.name, found.resource_id].filter((part) => part !== null);
    return [
      paint("bold", `revision ${found.revision}`),
      fields([
        ["time", found.created_at],
        ["by", printable(found.subject ?? "unknown")],
        ["action", printable(`${found.action} ${about.join(" ")}`)],
      ]),
      ...(found.diff.length === 0
        ? ["no field changed"]
        : ["changes", ...found.diff.map((change) => changeLine(found.resource, change))]),
      ...leftOutLines(found.diff_left_out),
    ].join("\n");
  };
}
