// gatehouse token: prints an admin token; creates, lists, and revokes admin tokens that are stored.
import { z } from "zod";
import { ADMIN_ROLES, isAdminRole, type AdminRole } from "../model/administrator.ts";
import { adminClient, CLIENT_HELP, CLIENT_OPTIONS, type AdminClient } from "./admin-client.ts";
import { parseArguments, required, wholeNumber } from "./arguments.ts";
import { UsageError, type Command } from "./command.ts";
import { expiry } from "./expiry.ts";
import { findGateway } from "./find-gateway.ts";
import { mintToken, requireServerSecret } from "./mint-token.ts";
import { paint, printable, table } from "./terminal.ts";

const DAY_SECONDS = 86_400;
const TEN_YEARS_SECONDS = 3650 * DAY_SECONDS;
const PAGE_SIZE = 1000;

const tokenSchema = z.object({
  id: z.string(),
  name: z.string(),
  role: z.string(),
  gateways: z.array(z.string()).nullable(),
  prefix: z.string(),
  active: z.boolean(),
  expires_at: z.string(),
  last_used_at: z.string().nullable(),
  created_by: z.string(),
});
const createdTokenSchema = tokenSchema.extend({ token: z.string() });
const tokenListSchema = z.object({ admin_tokens: z.array(tokenSchema) });
type TokenRecord = z.output<typeof tokenSchema>;

const parseTokenArguments = (args: readonly string[]) =>
  parseArguments(args, {
    options: {
      ...CLIENT_OPTIONS,
      role: { type: "string" },
      gateway: { type: "string", multiple: true, default: [] },
      seconds: { type: "string" },
      name: { type: "string" },
      expires: { type: "string" },
      json: { type: "boolean", default: false },
    },
    maxPositionals: 2,
  });
type TokenArguments = ReturnType<typeof parseTokenArguments>;

/** Each resolves to the text to print. */
const ACTIONS = new Map<string, (client: AdminClient, given: TokenArguments) => Promise<string>>([
  ["create", create],
  ["list", list],
  ["revoke", revoke],
]);

export const token: Command = {
  summary: "print an admin token for the Admin API; create, list, or revoke stored ones",
  help: `Usage: gatehouse token [--role ROLE] [--gateway ID …] [--name NAME] [--seconds N]
       gatehouse token create --name NAME [--role ROLE] [--gateway NAME|ID …] [--expires WHEN]
       gatehouse token list
       gatehouse token revoke ID|NAME

Without an action, prints a token signed with SERVER_SECRET_KEY, or with the secret that the server generated in DATA_DIR. Such a
token is not stored and cannot be revoked. create asks the server for a token that can; it is shown only once.

  --role ROLE    viewer (reads), operator (also changes everything but API keys, credentials, and administrators), or
                 owner (everything); default owner
  --gateway G    a gateway that the token is limited to; may be repeated; default all gateways
  --name NAME    name of the token, which revisions and the audit log show; without an action default admin
  --seconds N    lifetime of a signed token; default ${DAY_SECONDS}, one day
  --expires WHEN expiry of a stored token: a time such as 2030-01-01T00:00:00Z, or 12h, 30d; default 90d
${CLIENT_HELP}
  --json         print the record as JSON; of a signed token {"token", "expires_at"}`,
  run: async (args) => {
    const given = parseTokenArguments(args);
    const [name, argument] = given.positionals;
    if (name !== "revoke" && argument !== undefined)
      throw new UsageError(`unexpected argument "${argument}"; remove it, or see --help`);
    if (name === undefined) {
      console.log(await sign(given));
      return 0;
    }
    const action = ACTIONS.get(name);
    if (action === undefined)
      throw new UsageError(`there is no "token ${name}"; give one of ${[...ACTIONS.keys()].join(", ")}`);
    if (given.values.seconds !== undefined)
      throw new UsageError(`--seconds is not for "token ${name}"; use --expires, or see --help`);
    console.log(await action(await adminClient(given.values), given));
    return 0;
  },
};

async function sign({ values }: TokenArguments): Promise<string> {
  if (values.expires !== undefined)
    throw new UsageError("--expires is for stored tokens; use --seconds, or see --help");
  const seconds = wholeNumber("--seconds", values.seconds, DAY_SECONDS, { min: 1, max: TEN_YEARS_SECONDS });
  const gateways = values.gateway.length === 0 ? undefined : values.gateway;
  const claims = { role: roleFrom(values.role), gateways };
  const signed = await mintToken(requireServerSecret(""), seconds, values.name ?? "admin", claims);
  const expires_at = new Date(Date.now() + seconds * 1000).toISOString();
  return values.json ? JSON.stringify({ token: signed, expires_at }) : signed;
}

async function create(client: AdminClient, { values }: TokenArguments): Promise<string> {
  const name = required("--name", values.name);
  const role = roleFrom(values.role);
  const expires_at = expiry(values.expires);
  const gateways: string[] = [];
  for (const nameOrId of values.gateway) gateways.push((await findGateway(client, nameOrId)).id);
  const request = {
    name,
    ...(role !== undefined && { role }),
    ...(gateways.length > 0 && { gateways }),
    ...(expires_at !== null && { expires_at }),
  };
  const created = await client.post("/iam/admin-tokens", request, createdTokenSchema);
  if (values.json) return JSON.stringify(created);
  const note = `token "${name}" (${created.id}) with the role ${created.role}, valid until ${created.expires_at}; it is shown only once:`;
  console.error(paint("dim", note, process.stderr));
  return created.token;
}

async function list(client: AdminClient, { values }: TokenArguments): Promise<string> {
  const found = await listTokens(client, "");
  if (values.json) return JSON.stringify(found);
  if (found.length === 0) return "there is no stored admin token yet";
  const rows = found.map((each) => [
    each.id,
    printable(each.name),
    each.role,
    each.gateways === null ? "all" : String(each.gateways.length),
    `${each.prefix}…`,
    stateOf(each),
    each.expires_at,
    each.last_used_at ?? "never",
    printable(each.created_by),
  ]);
  return table(
    ["ID", "NAME", "ROLE", "GATEWAYS", "TOKEN", "STATE", "EXPIRES", "LAST USED", "CREATED BY"],
    rows,
  );
}

async function revoke(client: AdminClient, { values, positionals }: TokenArguments): Promise<string> {
  const nameOrId = positionals[1];
  if (nameOrId === undefined) throw new UsageError("token revoke needs the id or the name of a token");
  const named = (await listTokens(client, `&name=${encodeURIComponent(nameOrId)}`)).filter(
    ({ active }) => active,
  );
  if (named.length > 1)
    throw new UsageError(
      `${named.length} tokens are named "${nameOrId}"; give the id of one, see gatehouse token list`,
    );
  const [found = await client.get(`/iam/admin-tokens/${encodeURIComponent(nameOrId)}`, tokenSchema)] = named;
  await client.delete(`/iam/admin-tokens/${found.id}`);
  if (values.json) return JSON.stringify({ id: found.id, name: found.name, active: false });
  return `revoked token "${found.name}" (${found.id})`;
}

/** There are at most as many stored tokens as one page has. */
async function listTokens(client: AdminClient, filter: string): Promise<readonly TokenRecord[]> {
  const path = `/iam/admin-tokens?limit=${PAGE_SIZE}${filter}`;
  return (await client.get(path, tokenListSchema)).admin_tokens;
}

function stateOf({ active, expires_at }: TokenRecord): string {
  if (!active) return paint("red", "revoked");
  return Date.parse(expires_at) <= Date.now() ? paint("yellow", "expired") : paint("green", "active");
}

function roleFrom(text: string | undefined): AdminRole | undefined {
  if (text === undefined || isAdminRole(text)) return text;
  throw new UsageError(`--role is "${text}"; give one of ${ADMIN_ROLES.join(", ")}`);
}
