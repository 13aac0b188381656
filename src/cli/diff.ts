// gatehouse diff: prints which fields of which records differ between two revisions.
import { z } from "zod";
import { adminClient, CLIENT_HELP, CLIENT_OPTIONS } from "./admin-client.ts";
import { parseArguments } from "./arguments.ts";
import { recordChangesSchema, recordLines } from "./change-lines.ts";
import { UsageError, type Command } from "./command.ts";
import { Progress } from "./progress.ts";
import { leftOutLines, revisionNumber } from "./revision-records.ts";
import { paint } from "./terminal.ts";

const diffSchema = z.object({
  from: z.int(),
  to: z.int(),
  records: recordChangesSchema,
  left_out: z.int(),
});

export const diff: Command = {
  summary: "print what changed between two revisions",
  help: `Usage: gatehouse diff N [M] [--json] [--url URL] [--token TOKEN]

Prints which fields differ between revision N and revision M or the newest one, whatever they were in between. Of new records, it
prints the fields that differ from their defaults. A credential that differs is printed as changed; credentials are masked.

${CLIENT_HELP}
  --json         print {"from", "to", "records": [{"action", "resource", "id", "gateway_id", "name", "changes"}], "left_out"}`,
  run: async (args) => {
    const { values, positionals } = parseArguments(args, {
      options: { ...CLIENT_OPTIONS, json: { type: "boolean", default: false } },
      maxPositionals: 2,
    });
    const from = revisionNumber("N", positionals[0]);
    const to = positionals[1] === undefined ? null : revisionNumber("M", positionals[1]);
    if (to !== null && to < from)
      throw new UsageError(`N is ${from} and M is ${to}; give the earlier revision first`);
    const client = await adminClient(values);
    const path = `/revisions/${from}/diff${to === null ? "" : `?to=${to}`}`;
    const found = await new Progress().waiting("comparing", () => client.get(path, diffSchema));
    console.log(values.json ? JSON.stringify(found) : describe(found));
    return 0;
  },
};

function describe({ from, to, records, left_out }: z.output<typeof diffSchema>): string {
  const range = `revision ${from} and revision ${to}`;
  if (records.length === 0) return `nothing differs between ${range}`;
  return [
    paint("bold", `changes between ${range}`),
    ...records.flatMap(recordLines),
    ...leftOutLines(left_out),
  ].join("\n");
}
