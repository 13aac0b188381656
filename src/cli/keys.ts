// gatehouse keys: creates, lists, and revokes API keys.
import { z } from "zod";
import { adminClient, CLIENT_HELP, CLIENT_OPTIONS, type AdminClient } from "./admin-client.ts";
import { parseArguments, required } from "./arguments.ts";
import { UsageError, type Command } from "./command.ts";
import { expiry } from "./expiry.ts";
import { findGateway, type GatewayRecord } from "./find-gateway.ts";
import { paint, printable, table } from "./terminal.ts";

const keySchema = z.object({
  id: z.string(),
  name: z.string(),
  prefix: z.string(),
  active: z.boolean(),
  expires_at: z.string().nullable(),
  last_used_at: z.string().nullable(),
  labels: z.record(z.string(), z.string()),
  models: z.array(z.string()).nullable(),
});
const createdKeySchema = keySchema.extend({ key: z.string() });
const keyListSchema = z.object({ api_keys: z.array(keySchema) });
const ruleListSchema = z.object({
  rules: z.array(z.object({ id: z.string(), name: z.string().nullable(), path: z.string() })),
});

type KeyRecord = z.output<typeof keySchema>;

const PAGE_SIZE = 1000;
const MAX_LISTED = 10_000;

const parseKeyArguments = (args: readonly string[]) =>
  parseArguments(args, {
    options: {
      ...CLIENT_OPTIONS,
      name: { type: "string" },
      gateway: { type: "string" },
      expires: { type: "string" },
      rule: { type: "string", multiple: true, default: [] },
      label: { type: "string", multiple: true, default: [] },
      model: { type: "string", multiple: true, default: [] },
      tool: { type: "string", multiple: true, default: [] },
      json: { type: "boolean", default: false },
    },
    maxPositionals: 2,
  });
type KeyArguments = ReturnType<typeof parseKeyArguments>;

/** Each resolves to the text to print. */
const ACTIONS = new Map<string, (client: AdminClient, given: KeyArguments) => Promise<string>>([
  ["create", create],
  ["list", list],
  ["revoke", revoke],
]);

export const keys: Command = {
  summary: "create, list, or revoke API keys",
  help: `Usage: gatehouse keys create --name NAME [--gateway NAME|ID] [--rule ID|NAME|PATH …] [--expires WHEN]
                             [--label NAME=VALUE …] [--model NAME …] [--tool PATTERN …]
       gatehouse keys list [--gateway NAME|ID]
       gatehouse keys revoke ID|NAME

create prints only the key on standard output. The key is shown only once.

  --name NAME    name of the new key
  --gateway G    name or id; optional if there is only one gateway; list: default all gateways
  --rule R       a rule that the key may use, by id, name, or path; may be repeated; default every rule
  --label N=V    a label of the key, such as team=search; may be repeated
  --model M      a model that the key may use, or a prefix such as "gpt-*"; may be repeated; default every model
  --tool PATTERN a tool of MCP servers that the key may use, such as "tickets__*"; may be repeated; default every tool
  --expires WHEN a time such as 2030-01-01T00:00:00Z, or a duration from now: 12h, 30d
${CLIENT_HELP}
  --json         print the record as JSON`,
  run: async (args) => {
    const given = parseKeyArguments(args);
    const [name, key] = given.positionals;
    const action = name === undefined ? undefined : ACTIONS.get(name);
    if (action === undefined) {
      const problem = name === undefined ? "keys needs an action" : `there is no "keys ${name}"`;
      throw new UsageError(`${problem}; give one of ${[...ACTIONS.keys()].join(", ")}`);
    }
    if (name !== "revoke" && key !== undefined)
      throw new UsageError(`unexpected argument "${key}"; remove it, or see --help`);
    console.log(await action(await adminClient(given.values), given));
    return 0;
  },
};

async function create(client: AdminClient, { values }: KeyArguments): Promise<string> {
  const name = required("--name", values.name);
  const expires_at = expiry(values.expires);
  const labels = labelsIn(values.label);
  const gateway = await findGateway(client, values.gateway);
  const policies = await findRules(client, gateway, values.rule);
  const request = {
    name,
    subject: gateway.id,
    policies,
    labels,
    ...(expires_at !== null && { expires_at }),
    ...(values.model.length > 0 && { models: values.model }),
    ...(values.tool.length > 0 && { tools: values.tool }),
  };
  const created = await client.post("/iam/api-keys", request, createdKeySchema);
  if (values.json) return JSON.stringify(created);
  const until = created.expires_at === null ? "" : `, valid until ${created.expires_at}`;
  const note = `key "${name}" (${created.id}) of gateway ${gateway.name}${until}; it is shown only once:`;
  console.error(paint("dim", note, process.stderr));
  return created.key;
}

async function list(client: AdminClient, { values }: KeyArguments): Promise<string> {
  const subject = values.gateway === undefined ? undefined : (await findGateway(client, values.gateway)).id;
  const found = await listKeys(client, { subject });
  if (values.json) return JSON.stringify(found);
  if (found.length === 0) return "there is no API key yet";
  const rows = found.map((key) => [
    key.id,
    key.name,
    `${key.prefix}…`,
    stateOf(key),
    key.expires_at ?? "never",
    key.last_used_at ?? "never",
    printable(labelText(key)),
    printable(key.models?.join(", ") ?? "all"),
  ]);
  return table(["ID", "NAME", "KEY", "STATE", "EXPIRES", "LAST USED", "LABELS", "MODELS"], rows);
}

async function revoke(client: AdminClient, { values, positionals }: KeyArguments): Promise<string> {
  const nameOrId = positionals[1];
  if (nameOrId === undefined) throw new UsageError("keys revoke needs the id or the name of a key");
  const named = (await listKeys(client, { name: nameOrId })).filter(({ active }) => active);
  if (named.length > 1)
    throw new UsageError(
      `${named.length} keys are named "${nameOrId}"; give the id of one, see gatehouse keys list`,
    );
  const [key = await client.get(`/iam/api-keys/${encodeURIComponent(nameOrId)}`, keySchema)] = named;
  await client.delete(`/iam/api-keys/${key.id}`);
  if (values.json) return JSON.stringify({ id: key.id, name: key.name, active: false });
  return `revoked key "${key.name}" (${key.id})`;
}

async function listKeys(
  client: AdminClient,
  filters: Readonly<Record<string, string | undefined>>,
): Promise<KeyRecord[]> {
  const found: KeyRecord[] = [];
  const query = Object.entries(filters).flatMap(([filter, value]) =>
    value === undefined ? [] : [`&${filter}=${encodeURIComponent(value)}`],
  );
  for (;;) {
    const path = `/iam/api-keys?limit=${PAGE_SIZE}&offset=${found.length}${query.join("")}`;
    const { api_keys } = await client.get(path, keyListSchema);
    found.push(...api_keys);
    if (api_keys.length < PAGE_SIZE || found.length >= MAX_LISTED) return found;
  }
}

function labelText({ labels }: KeyRecord): string {
  const texts = Object.entries(labels).map(([name, value]) => `${name}=${value}`);
  return texts.length === 0 ? "none" : texts.join(", ");
}

function labelsIn(texts: readonly string[]): Record<string, string> {
  const labels = new Map<string, string>();
  for (const text of texts) {
    const at = text.indexOf("=");
    if (at <= 0) throw new UsageError(`--label is "${text}"; give NAME=VALUE, such as team=search`);
    const name = text.slice(0, at);
    if (labels.has(name)) throw new UsageError(`--label gives "${name}" twice; give each label once`);
    labels.set(name, text.slice(at + 1));
  }
  return Object.fromEntries(labels);
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
  const { rules } = await client.get(`/gateways/${id}/rules?limit=1000`, ruleListSchema);
  return wanted.flatMap((each) => {
    const found = rules.filter((rule) => rule.id === each || rule.name === each || rule.path === each);
    if (found.length === 0)
      throw new UsageError(
        `--rule: gateway ${name} has no rule "${each}"; give the id, name, or path of one`,
      );
    return found.map((rule) => rule.id);
  });
}
