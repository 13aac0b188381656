// gatehouse diff: prints which fields of which records differ between two revisions. The Admin API has the changes of each
// revision; this file merges them.
import { adminClient, CLIENT_HELP, CLIENT_OPTIONS, type AdminClient } from "./admin-client.ts";
import { parseArguments } from "./arguments.ts";
import { changeLine, type FieldChange } from "./change-lines.ts";
import { UsageError, type Command } from "./command.ts";
import {
  getRevision,
  leftOutLines,
  listRevisions,
  revisionNumber,
  type RevisionWithDiff,
} from "./revision-records.ts";
import { paint, printable, Progress } from "./terminal.ts";

const PAGE_SIZE = 1000;
/** Actions whose revision has the name of the record. */
const ACTIONS_ON_RECORDS: ReadonlySet<string> = new Set(["create", "update", "delete"]);

interface RecordDiff {
  readonly resource: string;
  readonly id: string | null;
  readonly name: string | null;
  readonly changes: readonly FieldChange[];
}

interface Diff {
  readonly from: number;
  readonly to: number;
  readonly records: readonly RecordDiff[];
  /** Number of changed fields that the Admin API did not return. */
  readonly left_out: number;
}

export const diff: Command = {
  summary: "print what changed between two revisions",
  help: `Usage: gatehouse diff N [M] [--json] [--url URL] [--token TOKEN]

Prints which fields changed after revision N, up to revision M or the newest one. Several changes of a field are one line, with
the value before the first and after the last of them; a field that has its first value again is not printed. Credentials are
masked.

${CLIENT_HELP}
  --json         print {"from", "to", "records": [{"resource", "id", "name", "changes"}], "left_out"}`,
  run: async (args) => {
    const { values, positionals } = parseArguments(args, {
      options: { ...CLIENT_OPTIONS, json: { type: "boolean", default: false } },
      maxPositionals: 2,
    });
    const from = revisionNumber("N", positionals[0]);
    const to = positionals[1] === undefined ? null : revisionNumber("M", positionals[1]);
    if (to !== null && to < from)
      throw new UsageError(`N is ${from} and M is ${to}; give the earlier revision first`);
    const found = await readDiff(await adminClient(values), from, to);
    console.log(values.json ? JSON.stringify(found) : describe(found));
    return 0;
  },
};

async function readDiff(client: AdminClient, from: number, to: number | null): Promise<Diff> {
  const [newest] = await listRevisions(client, { limit: 1 });
  const last = to ?? Math.max(from, newest?.revision ?? 0);
  const highest = newest?.revision ?? 0;
  if (from > highest || last > highest)
    throw new Error(
      `revision ${Math.max(from, last)} does not exist; the newest one is ${highest}, see gatehouse revisions`,
    );
  const numbers = await numbersBetween(client, from, last);
  const merged = new MergedChanges();
  const progress = new Progress();
  try {
    for (const [index, number] of numbers.entries()) {
      progress.show(`revision ${number}`, index / numbers.length);
      merged.add(await getRevision(client, number));
    }
  } finally {
    progress.end();
  }
  return { from, to: last, records: merged.records(), left_out: merged.leftOut };
}

/** Returns the revisions after `from` up to `to`, oldest first. Throws if they are not all kept: the result would be wrong. */
async function numbersBetween(client: AdminClient, from: number, to: number): Promise<number[]> {
  if (from === to) return [];
  // New revisions move the pages while they are read, so a revision may be on two of them.
  const numbers = new Set<number>();
  let oldest = Infinity;
  for (let offset = 0; oldest > from + 1; offset += PAGE_SIZE) {
    const page = await listRevisions(client, { limit: PAGE_SIZE, offset });
    for (const { revision } of page) {
      oldest = Math.min(oldest, revision);
      if (revision > from && revision <= to) numbers.add(revision);
    }
    if (page.length < PAGE_SIZE) break;
  }
  if (oldest > from + 1)
    throw new Error(
      `revision ${from + 1} is no longer kept (REVISIONS_KEPT); the earliest N to compare with is ${oldest - 1}`,
    );
  return [...numbers].sort((a, b) => a - b);
}

interface MergedField extends FieldChange {
  /** A secret changed to one with the same mask: `before` and `after` look equal and are not. */
  readonly hasEqualMasks: boolean;
}

interface MergedRecord {
  readonly resource: string;
  readonly id: string | null;
  /** Null until a revision that is about this record names it. */
  name: string | null;
  /** By path. */
  readonly fields: Map<string, MergedField>;
}

/** The changes of consecutive revisions, by record and field. */
class MergedChanges {
  readonly #records = new Map<string, MergedRecord>();
  leftOut = 0;

  add({ action, resource, resource_id, name, diff: changes, diff_left_out = 0 }: RevisionWithDiff): void {
    this.leftOut += diff_left_out;
    for (const change of changes) {
      const other = splitPath(change.path);
      const record =
        other === null ? this.#record(resource, resource_id) : this.#record(other.resource, other.id);
      // Other actions have their own name, such as that of the revision which a rollback restores.
      if (other === null && ACTIONS_ON_RECORDS.has(action)) record.name = name;
      addField(record.fields, other === null ? change : { ...change, path: other.path });
    }
  }

  records(): RecordDiff[] {
    return [...this.#records.values()].flatMap(({ resource, id, name, fields }) => {
      const changed = [...fields.values()].filter((field) => field.hasEqualMasks || !isUnchanged(field));
      if (changed.length === 0) return [];
      const changes = changed.map(({ path, before, after }) => ({ path, before, after }));
      return [{ resource, id, name: name ?? nameIn(fields), changes }];
    });
  }

  #record(resource: string, id: string | null): MergedRecord {
    const key = `${resource}/${id}`;
    const record = this.#records.get(key) ?? { resource, id, name: null, fields: new Map() };
    this.#records.set(key, record);
    return record;
  }
}

function nameIn(fields: ReadonlyMap<string, FieldChange>): string | null {
  const field = fields.get("name");
  const name = field?.after ?? field?.before;
  return typeof name === "string" ? name : null;
}

/** Paths in records that a revision is not about start with kind and id: `rules/4f…e1.path`. */
function splitPath(path: string): { resource: string; id: string; path: string } | null {
  const [, kind, id, rest] = /^([a-z_]+)\/([^.]+)\.(.+)$/s.exec(path) ?? [];
  if (kind === undefined || id === undefined || rest === undefined) return null;
  return { resource: kind === "prices" ? kind : kind.slice(0, -1), id, path: rest };
}

function addField(fields: Map<string, MergedField>, change: FieldChange): void {
  const earlier = fields.get(change.path);
  const merged = { ...change, before: earlier === undefined ? change.before : earlier.before };
  const hasEqualMasks = earlier?.hasEqualMasks === true || isUnchanged(change);
  fields.set(change.path, { ...merged, hasEqualMasks });
  if (earlier === undefined || merged.before !== null || merged.after !== null) return;
  // The field was added and removed again, and with it all that changed in it.
  for (const path of [...fields.keys()])
    if (path.startsWith(change.path) && /^([.[]|$)/.test(path.slice(change.path.length))) fields.delete(path);
}

function isUnchanged({ before, after }: FieldChange): boolean {
  return Bun.deepEquals(before, after);
}

function describe({ from, to, records, left_out }: Diff): string {
  const range = `revision ${from} and revision ${to}`;
  if (records.length === 0 && left_out === 0) return `nothing differs between ${range}`;
  return [
    paint("bold", `changes between ${range}`),
    ...records.flatMap(({ resource, id, name, changes }) => {
      const [sign, color] = signOf(resource, changes);
      const parts = [sign, resource.replace("_", " "), name, id === null || name === id ? null : `(${id})`];
      const title = printable(parts.filter((part) => part !== null).join(" "));
      return [paint(color, title), ...changes.map((change) => changeLine(resource, change))];
    }),
    ...leftOutLines(left_out),
  ].join("\n");
}

/** A record has been created or deleted if a field that it always has was added or removed. */
function signOf(resource: string, changes: readonly FieldChange[]) {
  const required = changes.find(({ path }) => path === (resource === "rule" ? "path" : "name"));
  if (required?.before === null) return ["+", "green"] as const;
  return required?.after === null ? (["-", "red"] as const) : (["~", "yellow"] as const);
}
