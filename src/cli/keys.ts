// gatehouse keys: makes, lists and revokes API keys.
import { adminClient, CLIENT_FLAGS, CLIENT_HELP, type AdminClient } from "./admin-client.ts";
import { UsageError, type Command } from "./command.ts";
import { findGateway, type GatewayRecord } from "./find-gateway.ts";
import { paint, table } from "./terminal.ts";
import { Words } from "./words.ts";

interface KeyRecord {
  readonly id: string;
  readonly name: string;
  readonly subject: string;
  readonly prefix: string;
  readonly active: boolean;
  readonly expires_at: string | null;
  readonly last_used_at: string | null;
}

const ACTIONS = { create, list, revoke } as const;
const PAGE = 1000;
const MAX_LISTED = 10_000;
const UNITS: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000 };

export const keys: Command = {
  summary: "create, list or revoke API keys",
  help: `Usage: gatehouse keys create --name NAME [--gateway NAME|ID] [--rule ID|NAME|PATH …] [--expires WHEN]
       gatehouse keys list [--gateway NAME|ID]
       gatehouse keys revoke ID|NAME

create prints the key and nothing else on standard output; it is shown this once.

  --name NAME    what the key is called
  --gateway G    name or id; may be left out where there is only one (list: of all gateways)
  --rule R       a rule the key is for, by id, name or path; may come again; default every rule
  --expires WHEN a time such as 2030-01-01T00:00:00Z, or from now: 12h, 30d
${CLIENT_HELP}
  --json         print records for machines`,
  run: async (given) => {
    const words = new Words(given, {
      values: ["--name", "--gateway", "--expires", ...CLIENT_FLAGS],
      lists: ["--rule"],
      switches: ["--json"],
      places: ["action", "key"],
    });
    const name = words.place(0);
    if (name === undefined || !Object.hasOwn(ACTIONS, name)) {
      const wanted = `give one of ${Object.keys(ACTIONS).join(", ")}`;
      throw new UsageError(
        name === undefined ? `keys needs an action; ${wanted}` : `there is no "keys ${name}"; ${wanted}`,
      );
    }
    if (name !== "revoke" && words.place(1) !== undefined)
      throw new UsageError(`"${words.place(1) ?? ""}" is one word too many; see --help`);
    const client = await adminClient({ url: words.value("--url"), token: words.value("--token") });
    console.log(await ACTIONS[name as keyof typeof ACTIONS](client, words));
    return 0;
  },
};

async function create(client: AdminClient, words: Words): Promise<string> {
  const name = words.required("--name");
  const expires_at = expiry(words.value("--expires"));
  const gateway = await findGateway(client, words.value("--gateway"));
  const policies = await findRules(client, gateway, words.list("--rule"));
  const made = await client.post<KeyRecord & { key: string }>("/iam/api-keys", {
    name,
    subject: gateway.id,
    policies,
    ...(expires_at !== null && { expires_at }),
  });
  if (words.has("--json")) return JSON.stringify(made);
  const until = made.expires_at === null ? "" : `, until ${made.expires_at}`;
  const note = `the key "${name}" (${made.id}) of the gateway ${gateway.name}${until}; it is shown this once:`;
  console.error(paint("dim", note, process.stderr));
  return made.key;
}

async function list(client: AdminClient, words: Words): Promise<string> {
  const wanted = words.value("--gateway");
  const subject = wanted === undefined ? undefined : (await findGateway(client, wanted)).id;
  const found = await allKeys(client, subject);
  if (words.has("--json")) return JSON.stringify(found);
  if (found.length === 0) return "there is no API key yet";
  const rows = found.map((key) => [
    key.id,
    key.name,
    `${key.prefix}…`,
    stateOf(key),
    key.expires_at ?? "never",
    key.last_used_at ?? "never",
  ]);
  return table(["ID", "NAME", "KEY", "STATE", "EXPIRES", "LAST USED"], rows);
}

async function revoke(client: AdminClient, words: Words): Promise<string> {
  const wanted = words.place(1);
  if (wanted === undefined) throw new UsageError("keys revoke needs the id or the name of a key");
  const named = (await allKeys(client, undefined, wanted)).filter(({ active }) => active);
  if (named.length > 1)
    throw new UsageError(
      `${named.length} keys are called "${wanted}"; give the id of one, see gatehouse keys list`,
    );
  const [key = await client.get<KeyRecord>(`/iam/api-keys/${encodeURIComponent(wanted)}`)] = named;
  await client.delete(`/iam/api-keys/${key.id}`);
  if (words.has("--json")) return JSON.stringify({ id: key.id, name: key.name, active: false });
  return `revoked the key "${key.name}" (${key.id})`;
}

async function allKeys(client: AdminClient, subject?: string, name?: string): Promise<KeyRecord[]> {
  const found: KeyRecord[] = [];
  const filters = Object.entries({ subject, name }).flatMap(([filter, value]) =>
    value === undefined ? [] : [`&${filter}=${encodeURIComponent(value)}`],
  );
  for (;;) {
    const query = `limit=${PAGE}&offset=${found.length}${filters.join("")}`;
    const page = await client.get<{ api_keys: KeyRecord[] }>(`/iam/api-keys?${query}`);
    found.push(...page.api_keys);
    if (page.api_keys.length < PAGE || found.length >= MAX_LISTED) return found;
  }
}

function stateOf({ active, expires_at }: KeyRecord): string {
  if (!active) return paint("red", "revoked");
  return expires_at !== null && Date.parse(expires_at) <= Date.now()
    ? paint("yellow", "expired")
    : paint("green", "active");
}

async function findRules(
  client: AdminClient,
  { id, name }: GatewayRecord,
  wanted: readonly string[],
): Promise<string[]> {
  if (wanted.length === 0) return [];
  interface RuleRecord {
    readonly id: string;
    readonly name: string | null;
    readonly path: string;
  }
  const { rules } = await client.get<{ rules: RuleRecord[] }>(`/gateways/${id}/rules?limit=1000`);
  return wanted.flatMap((each) => {
    const found = rules.filter((rule) => rule.id === each || rule.name === each || rule.path === each);
    if (found.length === 0) throw new UsageError(`the gateway ${name} has no rule "${each}"`);
    return found.map((rule) => rule.id);
  });
}

function expiry(text: string | undefined): string | null {
  if (text === undefined) return null;
  const [, amount, unit = ""] = /^(\d{1,6})([mhd])$/.exec(text) ?? [];
  if (amount !== undefined) return new Date(Date.now() + Number(amount) * (UNITS[unit] ?? 0)).toISOString();
  if (/^\d{4}-\d\d-\d\d/.test(text) && !Number.isNaN(Date.parse(text))) return new Date(text).toISOString();
  throw new UsageError(`--expires is "${text}"; give a time such as 2030-01-01T00:00:00Z, or 12h, 30d`);
}
