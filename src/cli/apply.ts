// gatehouse apply: changes the configuration of a running gateway to match a document, and prints the changes.
import { z } from "zod";
import type { ErrorDetail } from "../base/errors.ts";
import { resolveVariables, type UnsetVariable } from "../model/document-variables.ts";
import { PluginRegistry } from "../plugins/registry.ts";
import {
  adminClient,
  CLIENT_HELP,
  CLIENT_OPTIONS,
  RejectedRequest,
  type AdminClient,
} from "./admin-client.ts";
import { parseArguments, required } from "./arguments.ts";
import { changeLine, fieldChangeSchema, fieldLines, SIGNS } from "./change-lines.ts";
import { UsageError, type Command } from "./command.ts";
import { Progress } from "./progress.ts";
import { problemLine, readDocument } from "./read-document.ts";
import { paint, printable } from "./terminal.ts";

const changeSchema = z.object({
  action: z.enum(["create", "update", "delete", "none"]),
  resource: z.string(),
  gateway: z.string(),
  name: z.string(),
  diff: z.array(fieldChangeSchema),
  key: z.string().optional(),
});
const appliedSchema = z.object({
  changes: z.array(changeSchema),
  // A gateway of an older version sends none.
  warnings: z.array(z.object({ path: z.string(), message: z.string() })).optional(),
  revision: z.int(),
});

type AppliedChange = z.output<typeof changeSchema>;
type Applied = z.output<typeof appliedSchema>;

const parseApplyArguments = (args: readonly string[]) =>
  parseArguments(args, {
    options: {
      ...CLIENT_OPTIONS,
      "dry-run": { type: "boolean", default: false },
      prune: { type: "boolean", default: false },
      "prune-gateways": { type: "boolean", default: false },
      yes: { type: "boolean", default: false },
      json: { type: "boolean", default: false },
    },
    maxPositionals: 1,
  });
type ApplyFlags = ReturnType<typeof parseApplyArguments>["values"];

export const apply: Command = {
  summary: "change the configuration to match a document",
  help: `Usage: gatehouse apply FILE [--dry-run] [--prune] [--prune-gateways [--yes]] [--json] [--url URL] [--token TOKEN]

Applies a document (YAML or JSON; - reads standard input) to a running gateway: completely or not at all, as one
revision. \${NAME} and \${NAME:-default} in the document are replaced from the environment; write $\${ for a literal \${.
A value that is exactly one such reference is a number or a boolean where the field is one. Prints warnings about what is legal
but probably wrong; they do not change the exit code.

  --dry-run      print what would change, and change nothing
  --prune        delete what the gateways of the document have and the document does not name; API keys are revoked,
                 and only in gateways for which the document has api_keys
  --prune-gateways  delete the gateways that the document does not name, with all their records and usage
  --yes          confirm the deletion of gateways; without it, nothing is changed if there is one to delete
  --json         print the response of the Admin API
${CLIENT_HELP}`,
  run: async (args) => {
    const { values, positionals } = parseApplyArguments(args);
    if (values.yes && !values["prune-gateways"])
      throw new UsageError("--yes has an effect only with --prune-gateways; remove it");
    const file = required("FILE", positionals[0]);
    const read = await readDocument(file);
    if (!read.ok) return reportProblems(file, read.problems);
    const { document, unset, problems } = resolveVariables(read.document, process.env, settingsOf);
    const missing = unset.filter(({ hasDefault }) => !hasDefault).map(describeMissing);
    const { locate } = read;
    if (problems.length + missing.length > 0)
      return reportProblems(file, [...problems, ...missing].map(locate));
    const client = await adminClient(values);
    const warn = (warning: ErrorDetail) => console.error(problemLine(file, locate(warning), "warning"));
    try {
      return await applyDocument(client, document, values, warn);
    } catch (error) {
      if (!(error instanceof RejectedRequest)) throw error;
      return reportProblems(file, problemsOf(error, unset).map(locate));
    }
  },
};

const plugins = new PluginRegistry();

/** Custom plugins are known to the server only. */
function settingsOf(plugin: string): z.ZodType | undefined {
  return plugins.get(plugin)?.settings;
}

async function applyDocument(
  client: AdminClient,
  document: unknown,
  flags: ApplyFlags,
  warn: (warning: ErrorDetail) => void,
): Promise<number> {
  const post = (isDryRun: boolean, pruneGateways: boolean) => {
    const path = `/apply?dry_run=${isDryRun}&prune=${flags.prune}&prune_gateways=${pruneGateways}`;
    const work = () => client.post(path, document, appliedSchema);
    return new Progress().waiting(isDryRun ? "comparing" : "applying", work);
  };
  const print = (applied: Applied, isDryRun: boolean) => {
    if (!flags.json) for (const warning of applied.warnings ?? []) warn(warning);
    console.log(flags.json ? JSON.stringify(applied, null, 2) : describe(applied, isDryRun));
  };
  const needsConfirmation = flags["prune-gateways"] && !flags.yes && !flags["dry-run"];
  if (needsConfirmation) {
    const planned = await post(true, true);
    const deleted = planned.changes.filter(isDeletedGateway).map(({ name }) => name);
    if (deleted.length > 0) {
      print(planned, true);
      console.error(printable(`gatehouse: ${confirmationMessage(deleted)}`));
      return 1;
    }
  }
  // Without a confirmation no gateway is deleted, not even one that was created since the plan was made.
  const pruneGateways = flags["prune-gateways"] && !needsConfirmation;
  print(await post(flags["dry-run"], pruneGateways), flags["dry-run"]);
  return 0;
}

function isDeletedGateway({ action, resource }: AppliedChange): boolean {
  return action === "delete" && resource === "gateway";
}

function confirmationMessage(names: readonly string[]): string {
  const what = names.length === 1 ? "1 gateway" : `${names.length} gateways`;
  const [its, it] = names.length === 1 ? ["its", "it"] : ["their", "them"];
  return `${what} would be deleted with ${its} records and usage: ${names.join(", ")}; give --yes to delete ${it}`;
}

function reportProblems(file: string, problems: readonly ErrorDetail[]): number {
  for (const problem of problems) console.error(problemLine(file, problem));
  console.error("gatehouse: nothing was changed");
  return 1;
}

function describeMissing({ path, name }: UnsetVariable): ErrorDetail {
  return { path, message: `refers to \${${name}}, which is not set` };
}

/** Names the unset variable if the rejected field has the variable's default: setting it is the most likely fix. */
function problemsOf({ message, details }: RejectedRequest, unset: readonly UnsetVariable[]): ErrorDetail[] {
  if (details.length === 0) return [{ path: "", message }];
  return details.map((detail) => {
    const variable = unset.find(({ path }) => path === detail.path);
    return variable === undefined
      ? detail
      : { ...detail, message: `${detail.message}; set ${variable.name}` };
  });
}

function describe({ changes, revision }: Applied, isDryRun: boolean): string {
  const lines: string[] = [];
  for (const change of changes) {
    if (change.action === "none") continue;
    const [sign, color] = SIGNS[change.action];
    const line = printable(`${sign} ${titleOf(change)}`);
    lines.push(paint(color, line), ...linesOf(change));
    if (change.key !== undefined) lines.push(`    key (shown only once): ${change.key}`);
  }
  const unchanged = changes.filter(({ action }) => action === "none").length;
  const changed = changes.length - unchanged;
  if (changed === 0)
    return `Nothing to change: all ${unchanged} resources match the document (revision ${revision}).`;
  const end = isDryRun ? "Dry run: nothing was changed." : `Applied as revision ${revision}.`;
  return [...lines, `${changed} to change, ${unchanged} unchanged. ${end}`].join("\n");
}

function titleOf({ resource, gateway, name }: AppliedChange): string {
  if (resource === "prices") return resource;
  return `${resource.replace("_", " ")} ${resource === "gateway" ? name : `${gateway} / ${name}`}`;
}

function linesOf({ action, resource, diff }: AppliedChange): string[] {
  if (action !== "create") return diff.map((change) => changeLine(resource, change));
  // The title of the record has its name.
  return diff.flatMap(({ path, after }) => (path === "name" ? [] : fieldLines(resource, path, after)));
}
