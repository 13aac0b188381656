// gatehouse cache: shows how often kept responses served requests of a gateway, and removes them.
import { z } from "zod";
import { adminClient, CLIENT_HELP, CLIENT_OPTIONS } from "./admin-client.ts";
import { parseArguments } from "./arguments.ts";
import { UsageError, type Command } from "./command.ts";
import { findGateway } from "./find-gateway.ts";
import { printable } from "./terminal.ts";

const cacheSchema = z.object({
  store: z.enum(["memory", "redis"]),
  entries: z.int(),
  bytes: z.int(),
  max_bytes: z.int(),
  hits: z.int(),
  coalesced: z.int(),
  misses: z.int(),
  kept: z.int(),
  hit_ratio: z.number().nullable(),
  saved_input_tokens: z.int(),
  saved_output_tokens: z.int(),
  saved_cost: z.number().nullable(),
});

const ACTIONS: readonly string[] = ["show", "purge"];

export const cache: Command = {
  summary: "show or purge the kept responses of a gateway",
  help: `Usage: gatehouse cache show [--gateway NAME|ID]
       gatehouse cache purge [--gateway NAME|ID]

Shows what the plugin response_cache of a gateway keeps, how often that served requests, and what it saved, or removes all of it.
Without Redis, both are about the node that responds.

  --gateway G    name or id; optional if there is only one gateway
${CLIENT_HELP}
  --json         show: print the numbers as JSON; purge: print {"gateway"}, the id of the gateway`,
  run: async (args) => {
    const { values, positionals } = parseArguments(args, {
      options: {
        ...CLIENT_OPTIONS,
        gateway: { type: "string" },
        json: { type: "boolean", default: false },
      },
      maxPositionals: 1,
    });
    const [action] = positionals;
    if (action === undefined || !ACTIONS.includes(action)) {
      const problem = action === undefined ? "cache needs an action" : `there is no "cache ${action}"`;
      throw new UsageError(`${problem}; give one of ${ACTIONS.join(", ")}`);
    }
    const client = await adminClient(values);
    const { id, name } = await findGateway(client, values.gateway);
    const path = `/gateways/${id}/cache`;
    if (action === "purge") {
      await client.delete(path);
      console.log(
        values.json ? JSON.stringify({ gateway: id }) : `purged the cache of gateway ${printable(name)}`,
      );
      return 0;
    }
    const state = await client.get(path, cacheSchema);
    console.log(values.json ? JSON.stringify(state) : linesOf(state));
    return 0;
  },
};

function linesOf(state: z.output<typeof cacheSchema>): string {
  const ratio = state.hit_ratio === null ? "no requests yet" : `${(state.hit_ratio * 100).toFixed(1)} %`;
  const rows = [
    ["store", state.store],
    ["responses", String(state.entries)],
    ["bytes", `${state.bytes} of ${state.max_bytes}`],
    ["hits", String(state.hits)],
    ["coalesced", String(state.coalesced)],
    ["misses", String(state.misses)],
    ["hit ratio", ratio],
    ["saved tokens", `${state.saved_input_tokens} input, ${state.saved_output_tokens} output`],
    ["saved cost", state.saved_cost === null ? "-" : `$${state.saved_cost.toFixed(6)}`],
  ];
  return rows.map(([name = "", value = ""]) => `${name.padEnd(14)}${value}`).join("\n");
}
