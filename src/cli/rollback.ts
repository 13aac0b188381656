// gatehouse rollback: restores the whole configuration as of a revision.
import { z } from "zod";
import { adminClient, CLIENT_HELP, CLIENT_OPTIONS } from "./admin-client.ts";
import { parseArguments } from "./arguments.ts";
import type { Command } from "./command.ts";
import { listRevisions, revisionNumber } from "./revision-records.ts";
import { paint, printable } from "./terminal.ts";

const rollbackSchema = z.object({
  revision: z.int(),
  not_undone: z.array(z.object({ api_key_id: z.string(), name: z.string(), reason: z.string() })),
});

export const rollback: Command = {
  summary: "restore the configuration as of a revision",
  help: `Usage: gatehouse rollback N [--json] [--url URL] [--token TOKEN]

Restores the whole configuration as of revision N, as a new revision. Revoked API keys remain revoked, and rotated ones keep
their new key. See first what would be undone: gatehouse diff N.

${CLIENT_HELP}
  --json         print {"revision", "not_undone"}`,
  run: async (args) => {
    const { values, positionals } = parseArguments(args, {
      options: { ...CLIENT_OPTIONS, json: { type: "boolean", default: false } },
      maxPositionals: 1,
    });
    const number = revisionNumber("N", positionals[0]);
    const client = await adminClient(values);
    const [newest] = await listRevisions(client, { limit: 1 });
    const rolledBack = await client.post(`/revisions/${number}/rollback`, undefined, rollbackSchema);
    if (values.json) {
      console.log(JSON.stringify(rolledBack));
      return 0;
    }
    const { revision } = rolledBack;
    console.log(
      revision === newest?.revision
        ? `nothing to restore: revision ${revision} has the configuration of revision ${number}`
        : `rolled back to revision ${number}; the new revision is ${revision}`,
    );
    for (const { api_key_id, name, reason } of rolledBack.not_undone)
      console.log(paint("yellow", printable(`not undone: API key "${name}" (${api_key_id}) was ${reason}`)));
    return 0;
  },
};
