// gatehouse status: whether a gateway is there and ready, and what it runs on.
import { adminClient, adminUrl, CLIENT_FLAGS, CLIENT_HELP, reach } from "./admin-client.ts";
import type { Command } from "./command.ts";
import { fields, paint } from "./terminal.ts";
import { Words } from "./words.ts";

interface Readiness {
  readonly status: string;
  readonly revision: number | null;
  readonly store: Dependency;
  readonly counters: Dependency;
  readonly faulty_gateways?: Readonly<Record<string, string>>;
}

interface Dependency {
  readonly state: string;
  readonly detail?: string;
}

interface Status extends Readiness {
  readonly url: string;
  readonly version: string | null;
  readonly uptime_seconds: number | null;
  readonly memory_bytes: number | null;
  /** Null without a token. */
  readonly gateways: number | null;
  readonly api_keys: number | null;
}

export const status: Command = {
  summary: "tell whether a gateway is ready, and what it runs on",
  help: `Usage: gatehouse status [--url URL] [--token TOKEN] [--json]

Exits with 0 when the gateway is ready, with 1 when it is not or cannot be reached.

${CLIENT_HELP}
  --json         print it for machines`,
  run: async (given) => {
    const words = new Words(given, { values: CLIENT_FLAGS, switches: ["--json"] });
    const flags = { url: words.value("--url"), token: words.value("--token") };
    const found = await readStatus(adminUrl(flags), flags);
    console.log(words.has("--json") ? JSON.stringify(found) : describe(found));
    return found.status === "ready" ? 0 : 1;
  },
};

async function readStatus(url: string, flags: Parameters<typeof adminClient>[0]): Promise<Status> {
  const ready = await reach(url, "/readyz");
  const readiness = (await ready.json().catch(() => null)) as Readiness | null;
  if (readiness === null || typeof readiness.status !== "string" || readiness.store === undefined)
    throw new Error(`what answers at ${url} is no Gatehouse; give its address with --url`);
  const metrics = await (await reach(url, "/metrics")).text();
  const document = (await (await reach(url, "/api/openapi.json")).json().catch(() => null)) as {
    info?: { version?: string };
  } | null;
  const counts = await countRecords(flags).catch(() => ({ gateways: null, api_keys: null }));
  return {
    url,
    version: document?.info?.version ?? null,
    ...readiness,
    uptime_seconds: metric(metrics, "process_uptime_seconds"),
    memory_bytes: metric(metrics, "process_resident_memory_bytes"),
    ...counts,
  };
}

/** Whoever has no token may still know whether the gateway is ready. */
async function countRecords(
  flags: Parameters<typeof adminClient>[0],
): Promise<Pick<Status, "gateways" | "api_keys">> {
  const client = await adminClient(flags);
  const [gateways, keys] = await Promise.all([
    client.get<{ count: number }>("/gateways?limit=1"),
    client.get<{ count: number }>("/iam/api-keys?limit=1"),
  ]);
  return { gateways: gateways.count, api_keys: keys.count };
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
      ["running", `${duration(found.uptime_seconds ?? 0)}, ${megabytes} MB`],
      ...Object.entries(found.faulty_gateways ?? {}).map(
        ([id, reason]) => [paint("yellow", "not in force"), `gateway ${id}: ${reason}`] as const,
      ),
    ]),
  ].join("\n");
}

function dependency({ state, detail }: Dependency): string {
  const shown =
    state === "away" ? paint("red", state) : state === "ok" ? paint("green", state) : (detail ?? state);
  return state === "none" || detail === undefined ? shown : `${shown}: ${detail}`;
}

function count(number: number, what: string): string {
  return `${number} ${what}${number === 1 ? "" : "s"}`;
}

function duration(seconds: number): string {
  if (seconds < 120) return `${seconds} s`;
  if (seconds < 7200) return `${Math.floor(seconds / 60)} min`;
  return seconds < 172_800 ? `${Math.floor(seconds / 3600)} h` : `${Math.floor(seconds / 86_400)} days`;
}
