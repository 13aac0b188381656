// gatehouse requests: lists the last requests of a gateway, or follows new ones.
import { z } from "zod";
import type { SseEvent } from "../formats/sse.ts";
import { OUTCOMES } from "../telemetry/requests/request-facts.ts";
import { adminClient, CLIENT_HELP, CLIENT_OPTIONS, matches, parseJson } from "./admin-client.ts";
import { parseArguments, wholeNumber } from "./arguments.ts";
import { UsageError, type Command } from "./command.ts";
import { findGateway } from "./find-gateway.ts";
import { followEvents, stopSignal } from "./follow-events.ts";
import { pad, paint, printable, table } from "./terminal.ts";

const requestSchema = z.object({
  request_id: z.string(),
  time: z.string(),
  method: z.string(),
  path: z.string(),
  // Nodes of an older version send records without these two.
  operation: z.string().nullish(),
  translation: z.object({ from: z.string(), to: z.string() }).nullish(),
  api_key: z.object({ name: z.string() }).nullable(),
  status: z.int(),
  outcome: z.string(),
  error_code: z.string().nullable(),
  provider: z.string().nullable(),
  model: z.string().nullable(),
  requested_model: z.string().nullable(),
  mcp: z.object({ method: z.string().nullable(), tool: z.string().nullable() }).nullish(),
  tokens: z.object({ input: z.int(), output: z.int() }).nullable(),
  cost: z.number().nullable(),
  timings: z.object({ total_ms: z.number() }),
});
const requestListSchema = z.object({ requests: z.array(requestSchema) });
const droppedSchema = z.object({ count: z.int() });

type RequestRecord = z.output<typeof requestSchema>;

const DEFAULT_LIMIT = 20;
const MAX_LIMIT = 1000;

/** Titles, and the widths of lines that are printed one by one. Longer cells move the rest of their line. */
const COLUMNS: readonly (readonly [title: string, width: number])[] = [
  ["TIME", 24],
  ["STATUS", 6],
  ["OUTCOME", 11],
  ["REQUEST", 24],
  ["OPERATION", 16],
  ["MODEL", 16],
  ["PROVIDER", 10],
  ["API KEY", 12],
  ["TOKENS", 11],
  ["COST", 9],
  ["DURATION", 10],
  ["REQUEST ID", 0],
];

export const requests: Command = {
  summary: "list the last requests of a gateway, or follow new ones",
  help: `Usage: gatehouse requests [--gateway NAME|ID] [--status S] [--outcome O] [--model M] [--tool T] [--limit N] [--json]
       gatehouse requests --follow [--gateway NAME|ID] [--status S] [--outcome O] [--model M] [--tool T] [--json]

Lists the last requests of a gateway, newest first. With --follow, prints each new request when it has ended, until Ctrl-C; if the
connection is lost, reconnects. Requests that end in between are not printed. TOKENS are input + output; the cost is in US dollars.
OPERATION is followed by the formats that a request was translated between, such as chat (openai->anthropic). Requests to MCP
services have their method there, and the called tool as MODEL.

  --gateway G    name or id; optional if there is only one gateway
  --status S     a status such as 429, or a class such as 5xx
  --outcome O    one of ${OUTCOMES.join(", ")}
  --model M      the model that was sent to the provider
  --tool T       the called MCP tool, by the name that the client uses
  --limit N      number of requests to list, 1 to ${MAX_LIMIT}; default ${DEFAULT_LIMIT}
  --follow       print new requests
${CLIENT_HELP}
  --json         print the records as JSON; with --follow, one per line`,
  run: async (args) => {
    const { values } = parseArguments(args, {
      options: {
        ...CLIENT_OPTIONS,
        gateway: { type: "string" },
        status: { type: "string" },
        outcome: { type: "string" },
        model: { type: "string" },
        tool: { type: "string" },
        limit: { type: "string" },
        follow: { type: "boolean", default: false },
        json: { type: "boolean", default: false },
      },
    });
    const filter = filterFrom(values);
    const limit = wholeNumber("--limit", values.limit, DEFAULT_LIMIT, { min: 1, max: MAX_LIMIT });
    if (values.follow && values.limit !== undefined)
      throw new UsageError("--limit has no effect with --follow; remove one of them");
    const client = await adminClient(values);
    const { id } = await findGateway(client, values.gateway);
    if (values.follow) {
      const path = `/gateways/${id}/requests/stream?${filter.toString()}`;
      await followEvents(values, path, stopSignal(), (event) => printEvent(event, values.json));
      return 0;
    }
    filter.set("limit", String(limit));
    const found = await client.get(`/gateways/${id}/requests?${filter.toString()}`, requestListSchema);
    console.log(values.json ? JSON.stringify(found.requests) : describe(found.requests));
    return 0;
  },
};

interface Filter {
  readonly status?: string | undefined;
  readonly outcome?: string | undefined;
  readonly model?: string | undefined;
  readonly tool?: string | undefined;
}

function filterFrom({ status, outcome, model, tool }: Filter): URLSearchParams {
  if (status !== undefined && !/^[1-5](xx|\d\d)$/.test(status))
    throw new UsageError(`--status is "${status}"; give a status such as 429, or a class such as 5xx`);
  if (outcome !== undefined && !OUTCOMES.some((known) => known === outcome))
    throw new UsageError(`--outcome is "${outcome}"; give one of ${OUTCOMES.join(", ")}`);
  return new URLSearchParams({
    ...(status !== undefined && { status }),
    ...(outcome !== undefined && { outcome }),
    ...(model !== undefined && { model }),
    ...(tool !== undefined && { tool }),
  });
}

function printEvent({ event, data }: SseEvent, isJson: boolean): void {
  const value = parseJson(data);
  if (event === "request" && matches(requestSchema, value))
    console.log(isJson ? JSON.stringify(value) : lineOf(value));
  if (event === "dropped" && matches(droppedSchema, value))
    console.error(`gatehouse: ${value.count} requests are not printed because the output is read too slowly`);
}

function describe(found: readonly RequestRecord[]): string {
  if (found.length === 0) return "no request is recorded";
  return table(
    COLUMNS.map(([title]) => title),
    found.map(cellsOf),
  );
}

function lineOf(record: RequestRecord): string {
  const cells = cellsOf(record).map((cell, index) => pad(cell, COLUMNS[index]?.[1] ?? 0));
  return cells.join("  ");
}

function cellsOf(record: RequestRecord): string[] {
  const { status, outcome, error_code, tokens, cost, timings } = record;
  const [time = "", result = "", ...others] = [
    record.time,
    error_code === null ? outcome : `${outcome} (${error_code})`,
    `${record.method} ${record.path}`,
    operationText(record),
    record.model ?? record.requested_model ?? record.mcp?.tool ?? "-",
    record.provider ?? "-",
    record.api_key?.name ?? "-",
    tokens === null ? "-" : `${tokens.input} + ${tokens.output}`,
    cost === null ? "-" : `$${cost.toFixed(6)}`,
    `${Math.round(timings.total_ms)} ms`,
    record.request_id,
  ].map(printable);
  return [time, paint(colorOf(status), String(status)), result, ...others];
}

function operationText({ operation, translation, mcp }: RequestRecord): string {
  const name = operation ?? mcp?.method ?? "-";
  return translation ? `${name} (${translation.from}->${translation.to})` : name;
}

function colorOf(status: number) {
  if (status >= 500) return "red";
  return status >= 400 ? "yellow" : "green";
}
