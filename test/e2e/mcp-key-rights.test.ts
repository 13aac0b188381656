// The `tools` of an API key, or of a token, govern prompts, resources, completions, subscriptions and streams
// like tools.
import { describe, expect, test } from "bun:test";
import { seedMcp, SessionClient, StatelessClient, useMcpServers } from "../support/mcp-fixtures.ts";
import { seedKey } from "../support/proxy-fixtures.ts";
import { useTokenIssuer } from "../support/token-issuer.ts";
import { useGatehouse } from "../support/use-gatehouse.ts";
import { waitUntil } from "../support/waiting.ts";

const gatehouse = await useGatehouse({ env: { PUBLIC_URL: "https://tools.example.com" } });
const servers = useMcpServers({ alpha: { tools: { read: {} } }, beta: { tools: { read: {} } } });
for (const server of Object.values(servers)) server.completes = true;
const issuer = await useTokenIssuer();

const shared = await seedMcp(
  gatehouse,
  { alpha: servers.alpha.url, beta: servers.beta.url },
  { gateway: { jwt_issuers: [issuer.record({ tools: "tools" })] } },
);

async function headersFor(kind: "key" | "token", tools: readonly string[] | null) {
  if (kind === "token") return { Authorization: `Bearer ${await issuer.sign({ tools })}` };
  return { "X-GW-API-Key": (await seedKey(gatehouse, shared.gateway, { tools })).key };
}

type Client = Pick<SessionClient, "request"> | StatelessClient;

async function clientsFor(headers: Record<string, string>): Promise<Client[]> {
  return [new StatelessClient(shared.url, headers), await SessionClient.start(shared.url, { headers })];
}

const LISTS = {
  "tools/list": ["tools", "name"],
  "prompts/list": ["prompts", "name"],
  "resources/list": ["resources", "uri"],
  "resources/templates/list": ["resourceTemplates", "uriTemplate"],
} as const;

async function listed(client: Client): Promise<string[]> {
  const all: string[] = [];
  for (const [method, [field, key]] of Object.entries(LISTS)) {
    const { result } = await client.request(method);
    all.push(...(result[field] as Record<string, string>[]).map((each) => each[key] ?? ""));
  }
  return all;
}

const ALPHA = ["alpha__read", "alpha__greet", "alpha+memo://notes", "alpha+memo://{name}"];
const BETA = ["beta__read", "beta__greet", "beta+memo://notes", "beta+memo://{name}"];

/** Requests for what a server has, by the prefix of the server. */
const requests = (server: string): [string, Record<string, unknown>][] => [
  ["tools/call", { name: `${server}__read`, arguments: {} }],
  ["prompts/get", { name: `${server}__greet` }],
  ["resources/read", { uri: `${server}+memo://notes` }],
  ["resources/read", { uri: `${server}+memo://of-a-template` }],
  ["completion/complete", completion({ type: "ref/prompt", name: `${server}__greet` })],
  ["completion/complete", completion({ type: "ref/resource", uri: `${server}+memo://{name}` })],
];

function completion(ref: object): Record<string, unknown> {
  return { ref, argument: { name: "name", value: "n" } };
}

describe.each(["key", "token"] as const)("a %s", (kind) => {
  test("without patterns uses everything", async () => {
    if (kind === "token") return;
    for (const client of await clientsFor(await headersFor(kind, null)))
      expect(await listed(client)).toEqual([...ALPHA, ...BETA].sort(byList));
  });

  test("for one server lists nothing of another one, and reaches nothing of it", async () => {
    for (const client of await clientsFor(await headersFor(kind, ["alpha__*"]))) {
      expect(await listed(client)).toEqual(ALPHA);
      const before = servers.beta.received.length;
      for (const [method, params] of requests("beta")) {
        const { error } = await client.request(method, params);
        expect([method, error]).toEqual([method, expect.objectContaining({ code: -32602 })]);
      }
      for (const [method, params] of requests("alpha")) {
        const { error } = await client.request(method, params);
        expect([method, error]).toEqual([method, undefined]);
      }
      expect(servers.beta.received.slice(before)).toEqual([]);
    }
  });

  test("without any right lists nothing, and starts no session at a server", async () => {
    const before = [servers.alpha, servers.beta].map(({ received }) => received.length);
    for (const client of await clientsFor(await headersFor(kind, []))) {
      expect(await listed(client)).toEqual([]);
      for (const [method, params] of [...requests("alpha"), ...requests("beta")]) {
        const { error } = await client.request(method, params);
        expect([method, error]).toEqual([method, expect.objectContaining({ code: -32602 })]);
      }
    }
    expect([servers.alpha, servers.beta].map(({ received }) => received.length)).toEqual(before);
  });
});

test("a pattern for a tool gives no resources and prompts, and one for a URI gives what begins with it", async () => {
  const [client] = await clientsFor(
    await headersFor("key", ["alpha__read", "beta__memo://public/*", "beta__greet"]),
  );
  if (client === undefined) throw new Error("no client");
  expect(await listed(client)).toEqual(["alpha__read", "beta__greet"]);
  const read = async (uri: string) => (await client.request("resources/read", { uri })).error?.["code"];
  expect(await read("beta+memo://public/one")).toBeUndefined();
  expect(await read("alpha+memo://notes")).toBe(-32602);
  // A server may resolve dot segments.
  for (const uri of [
    "memo://private",
    "memo://public/../private",
    "memo://public/%2e%2e/private",
    "memo://public/.%2E/private",
    "memo://public\\..\\private",
    "memo://public/..",
    "memo://public/%252e%252e/private",
    "memo://public/a/./b",
  ])
    expect([uri, await read(`beta+${uri}`)]).toEqual([uri, -32602]);
});

test("subscriptions and streams have nothing of a server that the key may not use", async () => {
  const headers = await headersFor("key", ["alpha__*"]);
  const session = await SessionClient.start(shared.url, { headers });
  const denied = await session.request("resources/subscribe", { uri: "beta+memo://notes" });
  expect(denied.error).toMatchObject({ code: -32602 });
  const allowed = await session.request("resources/subscribe", { uri: "alpha+memo://notes" });
  expect(allowed.error).toBeUndefined();
  const abort = new AbortController();
  const response = await session.stream(abort.signal);
  await waitUntil(() => servers.alpha.openStreams > 0);
  expect(servers.beta.openStreams).toBe(0);
  servers.beta.broadcast({ method: "notifications/message", params: { level: "error", data: "beta" } });
  servers.alpha.broadcast({ method: "notifications/message", params: { level: "error", data: "alpha" } });
  let text = "";
  for await (const bytes of response.body ?? []) {
    text += Buffer.from(bytes).toString();
    if (text.includes('"alpha"')) break;
  }
  abort.abort();
  expect(text).not.toContain("beta");
});

/** As `listed`: by list, then by name. */
function byList(left: string, right: string): number {
  const rank = (text: string) =>
    [/__read$/, /__greet$/, /notes$/, /\{name\}$/].findIndex((pattern) => pattern.test(text));
  return rank(left) - rank(right) || (left < right ? -1 : 1);
}

// Go's encoding/json, for one, takes the last of the members that differ only in case.
test.each([
  ["tools/call", '"name":"alpha__read","Name":"hidden","arguments":{}', "params.name"],
  ["tools/call", '"name":"alpha__read","n\\u0041me":"hidden"', "params.name"],
  ["tools/call", '"name":"alpha__read","argument\u017f":{"a":1}', "params.arguments"],
  ["tools/call", '"NAME":"hidden"', "params.name"],
  ["prompts/get", '"name":"alpha__greet","NAME":"hidden"', "params.name"],
  ["resources/read", '"uri":"alpha+memo://notes","Uri":"memo://hidden"', "params.uri"],
  ["resources/list", '"Cursor":"x"', "params.cursor"],
  ["completion/complete", '"ref":{},"Ref":{"type":"ref/prompt","name":"hidden"}', "params.ref"],
  [
    "completion/complete",
    '"ref":{"type":"ref/prompt","name":"alpha__greet","Name":"hidden"},"argument":{"name":"n","value":"v"}',
    "params.ref.name",
  ],
])("a server gets no member in two cases: %s %s", async (method, params, member) => {
  const headers = await headersFor("key", ["alpha__*"]);
  const client = await SessionClient.start(shared.url, { headers });
  const before = servers.alpha.received.length;
  // The members of a large message are read in a thread.
  for (const padding of ["", ` ${" ".repeat(70_000)}`]) {
    const refused = await client.post(
      `{"jsonrpc":"2.0","id":1,"method":"${method}","params":{${params}}${padding}}`,
    );
    expect(refused.status).toBe(400);
    expect(refused.text).toContain("invalid_json");
    expect(refused.text).toContain(`differs from \\"${member}\\"`);
  }
  expect(servers.alpha.received.slice(before).map(({ method: sent }) => sent)).not.toContain(method);
});
