// gatehouse blocks: lists and removes the blocks that rate_limiter has made.
import { z } from "zod";
import { adminClient, CLIENT_HELP, CLIENT_OPTIONS, type AdminClient } from "./admin-client.ts";
import { parseArguments } from "./arguments.ts";
import { UsageError, type Command } from "./command.ts";
import { findGateway } from "./find-gateway.ts";
import { printable, table } from "./terminal.ts";

const blockSchema = z.object({
  id: z.string(),
  type: z.string(),
  subject: z.string(),
  created_at: z.string(),
  expires_at: z.string().nullable(),
});
const blockListSchema = z.object({ blocks: z.array(blockSchema), count: z.int() });

type BlockRecord = z.output<typeof blockSchema>;

const PAGE_SIZE = 1000;
const MAX_LISTED = 10_000;

const parseBlockArguments = (args: readonly string[]) =>
  parseArguments(args, {
    options: {
      ...CLIENT_OPTIONS,
      gateway: { type: "string" },
      json: { type: "boolean", default: false },
    },
    maxPositionals: 2,
  });
type BlockArguments = ReturnType<typeof parseBlockArguments>;

/** Each resolves to the text to print. */
const ACTIONS = new Map<string, (client: AdminClient, given: BlockArguments) => Promise<string>>([
  ["list", list],
  ["remove", remove],
  ["clear", clear],
]);

export const blocks: Command = {
  summary: "list or remove the blocks of rate_limiter",
  help: `Usage: gatehouse blocks list [--gateway NAME|ID]
       gatehouse blocks remove ID|SUBJECT [--gateway NAME|ID]
       gatehouse blocks clear [--gateway NAME|ID]

Lists the subjects that rate_limiter blocks, removes one of the blocks, or removes all blocks of a gateway. The counters of the
removed blocks start again from 0.

  --gateway G    name or id; optional if there is only one gateway
${CLIENT_HELP}
  --json         list: print the records as JSON; remove, clear: print {"removed"}, the number of removed blocks`,
  run: async (args) => {
    const given = parseBlockArguments(args);
    const [name, block] = given.positionals;
    const action = name === undefined ? undefined : ACTIONS.get(name);
    if (action === undefined) {
      const problem = name === undefined ? "blocks needs an action" : `there is no "blocks ${name}"`;
      throw new UsageError(`${problem}; give one of ${[...ACTIONS.keys()].join(", ")}`);
    }
    if (name !== "remove" && block !== undefined)
      throw new UsageError(`unexpected argument "${block}"; remove it, or see --help`);
    if (name === "remove" && block === undefined)
      throw new UsageError("blocks remove needs the id or the subject of a block");
    console.log(await action(await adminClient(given.values), given));
    return 0;
  },
};

async function list(client: AdminClient, { values }: BlockArguments): Promise<string> {
  const gateway = await findGateway(client, values.gateway);
  const found = await listBlocks(client, gateway.id);
  if (values.json) return JSON.stringify(found);
  if (found.length === 0) return `gateway ${printable(gateway.name)} has no block`;
  const rows = found.map(({ id, type, subject, created_at, expires_at }) =>
    [id, type, subject, created_at, expires_at ?? "never"].map(printable),
  );
  return table(["ID", "TYPE", "SUBJECT", "SINCE", "EXPIRES"], rows);
}

async function remove(client: AdminClient, { values, positionals }: BlockArguments): Promise<string> {
  const [, wanted = ""] = positionals;
  const gateway = await findGateway(client, values.gateway);
  const found = (await listBlocks(client, gateway.id)).filter(
    ({ id, subject }) => id === wanted || subject === wanted,
  );
  if (found.length > 1)
    throw new UsageError(
      `${found.length} blocks have the subject "${wanted}"; give the id of one, see gatehouse blocks list`,
    );
  const [block] = found;
  if (block === undefined)
    throw new Error(`gateway ${gateway.name} has no block "${wanted}"; see gatehouse blocks list`);
  await client.delete(`/gateways/${gateway.id}/blocks/${encodeURIComponent(block.id)}`);
  if (values.json) return JSON.stringify({ removed: 1 });
  return printable(`removed the ${block.type} block of ${block.subject} (${block.id})`);
}

async function clear(client: AdminClient, { values }: BlockArguments): Promise<string> {
  const gateway = await findGateway(client, values.gateway);
  const path = `/gateways/${gateway.id}/blocks`;
  const { count } = await client.get(`${path}?limit=1`, blockListSchema);
  await client.delete(path);
  if (values.json) return JSON.stringify({ removed: count });
  return printable(`removed ${count} ${count === 1 ? "block" : "blocks"} of gateway ${gateway.name}`);
}

async function listBlocks(client: AdminClient, gatewayId: string): Promise<BlockRecord[]> {
  const found: BlockRecord[] = [];
  for (;;) {
    const path = `/gateways/${gatewayId}/blocks?limit=${PAGE_SIZE}&offset=${found.length}`;
    const page = await client.get(path, blockListSchema);
    found.push(...page.blocks);
    if (page.blocks.length < PAGE_SIZE || found.length >= MAX_LISTED) return found;
  }
}
