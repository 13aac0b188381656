// The revisions of the Admin API as commands read and print them.
import { z } from "zod";
import type { AdminClient } from "./admin-client.ts";
import { wholeNumber } from "./arguments.ts";
import { fieldChangeSchema } from "./change-lines.ts";
import { UsageError } from "./command.ts";

const revisionSchema = z.object({
  revision: z.int(),
  created_at: z.string(),
  subject: z.string().nullable(),
  action: z.string(),
  resource: z.string(),
  resource_id: z.string().nullable(),
  name: z.string().nullable(),
});
const revisionListSchema = z.object({ revisions: z.array(revisionSchema), count: z.int() });
const revisionWithDiffSchema = revisionSchema.extend({
  diff: z.array(fieldChangeSchema),
  diff_left_out: z.int().optional(),
});

export type RevisionRecord = z.output<typeof revisionSchema>;
type RevisionWithDiff = z.output<typeof revisionWithDiffSchema>;

/** Returns the number of a revision; `name` is that of the argument in the usage. */
export function revisionNumber(name: string, text: string | undefined): number {
  if (text === undefined) throw new UsageError(`${name} is missing; give the number of a revision`);
  return wholeNumber(name, text, 0, { min: 0, max: Number.MAX_SAFE_INTEGER });
}

/** Returns a page of the history, newest first. */
export async function listRevisions(
  client: AdminClient,
  query: Readonly<Record<string, string | number>>,
): Promise<RevisionRecord[]> {
  const parameters = Object.entries(query).map(([name, value]) => `${name}=${encodeURIComponent(value)}`);
  const { revisions } = await client.get(`/revisions?${parameters.join("&")}`, revisionListSchema);
  return revisions;
}

export function getRevision(client: AdminClient, revision: number): Promise<RevisionWithDiff> {
  return client.get(`/revisions/${revision}`, revisionWithDiffSchema);
}

/** Returns a line that counts the changed fields that the Admin API did not return; no line if it returned all. */
export function leftOutLines(count = 0): string[] {
  return count === 0 ? [] : [`    ${count} more changed fields are not shown`];
}
