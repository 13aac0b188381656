// gatehouse status: prints whether a gateway is ready, and its version, store, counters, uptime, and memory.
import { z } from "zod";
import {
  adminClient,
  adminUrl,
  CLIENT_HELP,
  CLIENT_OPTIONS,
  matches,
  parseJson,
  sendRequest,
  type AdminClientFlags,
} from "./admin-client.ts";
import { parseArguments } from "./arguments.ts";
import type { Command } from "./command.ts";
import { fields, paint } from "./terminal.ts";

const dependencySchema = z.object({
  state: z.string(),
  detail: z.string().optional(),
  since: z.string().optional(),
});
const readinessSchema = z.object({
  status: z.string(),
  revision: z.int().nullable(),
  store: dependencySchema,
  counters: dependencySchema,
  ledger: dependencySchema.optional(),
  faulty_gateways: z.record(z.string(), z.string()).optional(),
  faulty_plugins: z.record(z.string(), z.string()).optional(),
  silent_mcp_servers: z.record(z.string(), z.string()).optional(),
});
const openApiSchema = z.object({ info: z.object({ version: z.string() }) });
const countSchema = z.object({ count: z.int() });

interface Status extends z.output<typeof readinessSchema> {
  readonly url: string;
  readonly version: string | null;
  readonly uptime_seconds: number | null;
  readonly memory_bytes: number | null;
  /** Decisions about limits and budgets that were made without Redis since the start. */
  readonly local_decisions: number | null;
  /** Null without a valid token. */
  readonly gateways: number | null;
  readonly api_keys: number | null;
}

export const status: Command = {
  summary: "show whether a gateway is ready, and its store, counters, and memory",
  help: `Usage: gatehouse status [--url URL] [--token TOKEN] [--json]

Exits with 0 if the gateway is ready, with 1 if it is not ready or cannot be reached.

${CLIENT_HELP}
  --json         print the status as JSON`,
  run: async (args) => {
    const { values } = parseArguments(args, {
      options: { ...CLIENT_OPTIONS, json: { type: "boolean" } },
    });
    const found = await readStatus(adminUrl(values), values);
    console.log(values.json === true ? JSON.stringify(found) : describe(found));
    return found.status === "ready" ? 0 : 1;
  },
};

async function readStatus(url: string, flags: AdminClientFlags): Promise<Status> {
  const read = async (path: string) => (await sendRequest(url, path)).text();
  const readiness = parseJson(await read("/readyz"));
  if (!matches(readinessSchema, readiness))
    throw new Error(`the server at ${url} is not a Gatehouse; give the address of one with --url`);
  const response = await sendRequest(url, "/metrics");
  const metrics = await response.text();
  const openApi = parseJson(await read("/api/openapi.json"));
  // Without a token, readiness is still known.
  const counts = await countRecords(flags).catch(() => ({ gateways: null, api_keys: null }));
  return {
    url,
    version: matches(openApiSchema, openApi) ? openApi.info.version : null,
    ...readiness,
    uptime_seconds: uptime(metrics, response.headers.get("date")),
    memory_bytes: metric(metrics, "process_resident_memory_bytes"),
    local_decisions: metric(metrics, "gatehouse_local_decisions_total"),
    ...counts,
  };
}

async function countRecords(flags: AdminClientFlags): Promise<Pick<Status, "gateways" | "api_keys">> {
  const client = await adminClient(flags);
  const [gateways, keys] = await Promise.all([
    client.get("/gateways?limit=1", countSchema),
    client.get("/iam/api-keys?limit=1", countSchema),
  ]);
  return { gateways: gateways.count, api_keys: keys.count };
}

/** By the clock of the server, which sends `date` and the time of its start: the clock here may differ. */
function uptime(metrics: string, date: string | null): number | null {
  const startedAt = metric(metrics, "process_start_time_seconds");
  if (startedAt === null) return null;
  const now = date === null ? Date.now() : Date.parse(date);
  return Math.max(0, Math.round(now / 1000 - startedAt));
}

function metric(text: string, name: string): number | null {
  const value = new RegExp(`^${name} (\\S+)$`, "m").exec(text)?.[1];
  return value === undefined ? null : Number(value);
}

function describe(found: Status): string {
  const isReady = found.status === "ready";
  const records =
    found.gateways === null
      ? ""
      : `, ${count(found.gateways, "gateway")}, ${count(found.api_keys ?? 0, "API key")}`;
  const megabytes = Math.round((found.memory_bytes ?? 0) / 1_000_000);
  return [
    `${paint("bold", `Gatehouse ${found.version ?? ""}`.trim())} at ${found.url} is ${paint(isReady ? "green" : "red", found.status)}`,
    fields([
      ["configuration", found.revision === null ? "none loaded" : `revision ${found.revision}${records}`],
      ["store", dependency(found.store)],
      ["counters", dependency(found.counters)],
      ...(found.ledger === undefined ? [] : [["ledger", dependency(found.ledger)] as const]),
      ...(found.counters.state === "none" ? [] : [["local decisions", localDecisions(found)] as const]),
      ["running", `${duration(found.uptime_seconds ?? 0)}, ${megabytes} MB`],
      ...Object.entries(found.faulty_gateways ?? {}).map(
        ([id, reason]) => [paint("yellow", "not active"), `gateway ${id}: ${reason}`] as const,
      ),
      ...Object.entries(found.silent_mcp_servers ?? {}).map(
        ([server, reason]) => [paint("yellow", "silent"), `MCP server ${server}: ${reason}`] as const,
      ),
      ...Object.entries(found.faulty_plugins ?? {}).map(
        ([entry, reason]) => [paint("yellow", "faulty"), `plugin ${entry}: ${reason}`] as const,
      ),
    ]),
  ].join("\n");
}

const FAILING: Readonly<Record<string, string>> = { away: "unavailable", read_only: "rejects writes" };

/** How many requests were decided without Redis. */
function localDecisions({ local_decisions }: Status): string {
  if (local_decisions === null) return "unknown";
  const text = `${local_decisions} since the start`;
  return local_decisions > 0 ? paint("yellow", text) : text;
}

function dependency({ state, detail = "", since }: Status["store"]): string {
  if (state === "none") return detail;
  const problem = FAILING[state];
  if (problem === undefined) return paint("green", state);
  const reason = detail === "" ? "" : `: ${detail}`;
  return `${paint("red", problem)}${since === undefined ? "" : ` since ${since}`}${reason}`;
}

function count(number: number, what: string): string {
  return `${number} ${what}${number === 1 ? "" : "s"}`;
}

function duration(seconds: number): string {
  if (seconds < 120) return `${seconds} s`;
  if (seconds < 7200) return `${Math.floor(seconds / 60)} min`;
  return seconds < 172_800 ? `${Math.floor(seconds / 3600)} h` : `${Math.floor(seconds / 86_400)} days`;
}
