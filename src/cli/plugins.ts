// gatehouse plugins: what a plugin in shadow mode would have done, and its promotion.
import { z } from "zod";
import { adminClient, CLIENT_HELP, CLIENT_OPTIONS } from "./admin-client.ts";
import { parseArguments, required } from "./arguments.ts";
import { UsageError, type Command } from "./command.ts";
import { findGateway } from "./find-gateway.ts";
import { printable } from "./terminal.ts";

const reportSchema = z.looseObject({
  problem: z.string().nullable(),
  since: z.string().nullable(),
  counts: z.record(z.string(), z.int()),
  statuses: z.record(z.string(), z.int()),
  samples: z.array(
    z.looseObject({
      request_id: z.string(),
      time: z.string(),
      outcome: z.string(),
      detail: z.string().nullable(),
    }),
  ),
});
const shadowSchema = reportSchema.extend({
  name: z.string(),
  stage: z.string(),
  mode: z.string(),
  next: reportSchema.nullable(),
});

type Report = z.output<typeof reportSchema>;

export const plugins: Command = {
  summary: "show what a plugin in shadow mode would do, or let it take effect",
  help: `Usage: gatehouse plugins shadow ENTRY [--gateway NAME|ID] [--json] [--url URL] [--token TOKEN]
       gatehouse plugins promote ENTRY [--gateway NAME|ID] [--url URL] [--token TOKEN]

ENTRY is the name of the plugin, or the position of its entry in required_plugins, from 0.

  --gateway G    name or id; optional if there is only one gateway
${CLIENT_HELP}
  --json         print the report as JSON`,
  run: async (args) => {
    const { values, positionals } = parseArguments(args, {
      options: { ...CLIENT_OPTIONS, gateway: { type: "string" }, json: { type: "boolean", default: false } },
      maxPositionals: 2,
    });
    const [action, given] = positionals;
    if (action !== "shadow" && action !== "promote")
      throw new UsageError(
        "give an action: gatehouse plugins shadow ENTRY, or gatehouse plugins promote ENTRY",
      );
    const entry = required("ENTRY", given);
    const client = await adminClient(values);
    const { id, name } = await findGateway(client, values.gateway);
    const path = `/gateways/${id}/plugins/${encodeURIComponent(entry)}`;
    if (action === "promote") {
      await client.post(`${path}/promote`, {}, z.looseObject({}));
      console.log(`${printable(entry)} takes effect in the gateway ${printable(name)}`);
      return 0;
    }
    const shadow = await client.get(`${path}/shadow`, shadowSchema);
    console.log(values.json ? JSON.stringify(shadow) : describe(shadow));
    return 0;
  },
};

function describe({ name, stage, mode, next, ...report }: z.output<typeof shadowSchema>): string {
  const lines = [`${printable(name)} at ${stage}, mode ${mode}`, ...describeReport(report)];
  if (next !== null) lines.push(`next version of ${printable(name)}`, ...describeReport(next));
  return lines.join("\n");
}

function describeReport({ problem, since, counts, statuses, samples }: Report): string[] {
  if (problem !== null) return [`  does not run: ${printable(problem)}`];
  if (since === null) return ["  no requests yet"];
  const shown = Object.entries(counts).filter(([, count]) => count > 0);
  const responses = Object.entries(statuses).map(([status, count]) => `${status}: ${count}`);
  return [
    `  since ${since}: ${shown.map(([count, value]) => `${count} ${value}`).join(", ")}`,
    ...(responses.length === 0 ? [] : [`  would respond: ${responses.join(", ")}`]),
    ...samples.map(
      ({ time, request_id, outcome, detail }) =>
        `  ${time} ${printable(request_id)} ${outcome}${detail === null ? "" : ` ${printable(detail)}`}`,
    ),
  ];
}
