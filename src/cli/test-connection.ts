// gatehouse test-connection: tests address, TLS and credential of the targets of a gateway.
import { z } from "zod";
import { connectionTestSchema, type ConnectionTest } from "../model/connection-test.ts";
import { adminClient, CLIENT_HELP, CLIENT_OPTIONS, type AdminClient } from "./admin-client.ts";
import { parseArguments } from "./arguments.ts";
import type { Command } from "./command.ts";
import { findGateway } from "./find-gateway.ts";
import { paint, printable } from "./terminal.ts";

const upstreamSchema = z.object({
  id: z.string(),
  name: z.string(),
  targets: z.array(z.object({ id: z.string(), provider: z.string() })),
});
const upstreamListSchema = z.object({ upstreams: z.array(upstreamSchema) });
type Upstream = z.output<typeof upstreamSchema>;

interface TestedTarget {
  readonly upstream: string;
  /** Number of the target in the upstream, from 1. */
  readonly target: number;
  readonly provider: string;
  readonly test: ConnectionTest;
}

const MARKS = {
  passed: () => paint("green", "passed"),
  failed: () => paint("red", "failed"),
  not_checked: () => paint("dim", "-     "),
} as const;

export const testConnection: Command = {
  summary: "test address, TLS, and credential of targets",
  help: `Usage: gatehouse test-connection [UPSTREAM] [--gateway NAME|ID]

Tests the targets of an upstream, or of all upstreams of a gateway, with their stored credentials: the gateway sends each of them a
request that uses no tokens. Exits with 1 if a check failed.

  UPSTREAM       name or id; default all upstreams of the gateway
  --gateway G    name or id; optional if there is only one gateway
${CLIENT_HELP}
  --json         print the results as JSON`,
  run: async (args) => {
    const { values, positionals } = parseArguments(args, {
      options: {
        ...CLIENT_OPTIONS,
        gateway: { type: "string" },
        json: { type: "boolean", default: false },
      },
      maxPositionals: 1,
    });
    const client = await adminClient(values);
    const gateway = await findGateway(client, values.gateway);
    const path = `/gateways/${encodeURIComponent(gateway.id)}`;
    const upstreams = await findUpstreams(client, path, positionals[0]);
    const tested: TestedTarget[] = [];
    for (const { id, name, targets } of upstreams) {
      for (const [index, { id: target_id, provider }] of targets.entries()) {
        const body = { upstream_id: id, target_id };
        const test = await client.post(`${path}/test-connection`, body, connectionTestSchema);
        const result = { upstream: name, target: index + 1, provider, test };
        tested.push(result);
        if (!values.json) console.log(textOf(result));
      }
    }
    if (values.json) console.log(JSON.stringify(tested));
    else if (tested.length === 0) console.log(`gateway ${printable(gateway.name)} has no upstream`);
    return tested.every(({ test }) => test.ok) ? 0 : 1;
  },
};

async function findUpstreams(client: AdminClient, path: string, wanted?: string): Promise<Upstream[]> {
  const { upstreams } = await client.get(`${path}/upstreams?limit=1000`, upstreamListSchema);
  if (wanted === undefined) return upstreams;
  const found = upstreams.filter(({ id, name }) => id === wanted || name === wanted);
  if (found.length === 0) throw new Error(`the gateway has no upstream "${wanted}"`);
  return found;
}

function textOf({ upstream, target, provider, test }: TestedTarget): string {
  const title = printable(`${upstream}, target ${target} (${provider}): GET ${test.url}`);
  const lines = test.checks.map(
    ({ check, result, message }) => `  ${check.padEnd(10)}  ${MARKS[result]()}  ${printable(message)}`,
  );
  return [paint("bold", title), ...lines].join("\n");
}
