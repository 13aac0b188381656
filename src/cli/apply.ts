// gatehouse apply: brings a running gateway to what a document says, and tells what that changes.
import type { ErrorDetail } from "../base/errors.ts";
import { resolveVariables, type UnsetVariable } from "../model/document-variables.ts";
import { adminClient, CLIENT_FLAGS, CLIENT_HELP, Refused } from "./admin-client.ts";
import type { Command } from "./command.ts";
import { faultLine, printable, readDocument } from "./read-document.ts";
import { Words } from "./words.ts";

interface Applied {
  readonly changes: readonly AppliedChange[];
  readonly revision: number;
}

interface AppliedChange {
  readonly action: "create" | "update" | "delete" | "none";
  readonly resource: string;
  readonly gateway: string;
  readonly name: string;
  readonly diff: readonly { readonly path: string; readonly before: unknown; readonly after: unknown }[];
  readonly key?: string;
}

export const apply: Command = {
  summary: "bring the configuration to what a document says",
  help: `Usage: gatehouse apply FILE [--dry-run] [--prune] [--json] [--url URL] [--token TOKEN]

Applies a document (YAML or JSON; - reads standard input) to a running gateway: all of it or nothing, as one revision.
\${NAME} and \${NAME:-default} in it are taken from the environment; $\${ stands for a literal \${.

  --dry-run      say what would change, and change nothing
  --prune        delete what the gateways of the document have and the document does not name; API keys are revoked,
                 and only in gateways for which the document has api_keys
  --json         print the answer of the Admin API
${CLIENT_HELP}`,
  run: async (words) => {
    const given = new Words(words, {
      values: CLIENT_FLAGS,
      switches: ["--dry-run", "--prune", "--json"],
      places: ["FILE"],
    });
    const file = given.requiredPlace(0, "FILE");
    const read = await readDocument(file);
    if (!read.ok) return tell(file, read.faults);
    const { document, unset, faults } = resolveVariables(read.document, process.env);
    const missing = unset.filter(({ hasDefault }) => !hasDefault).map(describeMissing);
    if (faults.length + missing.length > 0) return tell(file, [...faults, ...missing]);
    const client = await adminClient({ url: given.value("--url"), token: given.value("--token") });
    const dryRun = given.has("--dry-run");
    const query = `?dry_run=${dryRun}&prune=${given.has("--prune")}`;
    try {
      const applied = await client.post<Applied>(`/apply${query}`, document);
      console.log(given.has("--json") ? JSON.stringify(applied, null, 2) : report(applied, dryRun));
      return 0;
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      return tell(file, explain(error, unset));
    }
  },
};

function tell(file: string, problems: readonly ErrorDetail[]): number {
  for (const error of problems) console.error(faultLine(file, error));
  console.error("gatehouse: nothing was changed");
  return 1;
}

function describeMissing({ path, name }: UnsetVariable): ErrorDetail {
  return { path, message: `refers to \${${name}}, which is not set` };
}

/** A fault where a variable was left to its default is most likely about that. */
function explain({ message, details }: Refused, unset: readonly UnsetVariable[]): ErrorDetail[] {
  if (details.length === 0) return [{ path: "", message }];
  return details.map((detail) => {
    const variable = unset.find(({ path }) => path === detail.path);
    return variable === undefined
      ? detail
      : { ...detail, message: `${detail.message}; set ${variable.name}` };
  });
}

const SIGNS = { create: ["+", 32], update: ["~", 33], delete: ["-", 31] } as const;

function report({ changes, revision }: Applied, dryRun: boolean): string {
  const isColoured = process.stdout.isTTY && (process.env["NO_COLOR"] ?? "") === "";
  const lines: string[] = [];
  for (const change of changes) {
    if (change.action === "none") continue;
    const [sign, colour] = SIGNS[change.action];
    const name = change.resource === "gateway" ? change.name : `${change.gateway} / ${change.name}`;
    const line = printable(`${sign} ${change.resource.replace("_", " ")} ${name}`);
    lines.push(isColoured ? `\u001B[${colour}m${line}\u001B[0m` : line, ...diffLines(change));
    if (change.key !== undefined) lines.push(`    its key, told this once: ${change.key}`);
  }
  const same = changes.filter(({ action }) => action === "none").length;
  const done = changes.length - same;
  if (done === 0) return `Nothing to change: all ${same} are as the document says, at revision ${revision}.`;
  const end = dryRun ? "This was a dry run: nothing was changed." : `Applied as revision ${revision}.`;
  return [...lines, `${done} to change, ${same} as they are. ${end}`].join("\n");
}

function diffLines({ action, diff }: AppliedChange): string[] {
  if (action === "create") {
    const said = diff.filter(({ path, after }) => path !== "name" && !isEmpty(after));
    return said.map(({ path, after }) => printable(`    ${path}: ${short(after)}`));
  }
  return diff.map(({ path, before, after }) => printable(`    ${path}: ${short(before)} → ${short(after)}`));
}

function isEmpty(value: unknown): boolean {
  if (typeof value === "object" && value !== null) return Object.keys(value).length === 0;
  return value === null || value === false || value === "";
}

function short(value: unknown): string {
  const text = JSON.stringify(value);
  return text.length <= 160 ? text : `${text.slice(0, 160)}…`;
}
