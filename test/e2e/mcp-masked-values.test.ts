// pii_mask at MCP servers that keep what they get, and return it in later calls: a placeholder is restored to
// its own value, or stays.
import { describe, expect, test } from "bun:test";
import { seedMcp, SessionClient, StatelessClient, useMcpServers } from "../support/mcp-fixtures.ts";
import { seedKey } from "../support/proxy-fixtures.ts";
import type { ScriptedMcpServer } from "../support/scripted-mcp-server.ts";
import { useGatehouse } from "../support/use-gatehouse.ts";
import { waitFor } from "../support/waiting.ts";

const gatehouse = await useGatehouse();
const ANN = "ann@corp.test";
const BOB = "bob@corp.test";
const PLACEHOLDER = /<EMAIL_\d+>/g;

type Json = Record<string, unknown>;
type Tools = NonNullable<ConstructorParameters<typeof ScriptedMcpServer>[0]>["tools"];

const kept: string[] = [];
const said = (value: string) => ({ content: [{ type: "text", text: value }] });

const storing: Tools = {
  keep: {
    run: ({ params }) => {
      const given = JSON.stringify(params["arguments"]);
      kept.push(given);
      return said(given);
    },
  },
  // Returns what was kept before, and then its own arguments.
  recall: { run: ({ params }) => said([...kept, JSON.stringify(params["arguments"])].join("\n")) },
};

let questions = 0;

const asking: Tools = {
  ...storing,
  // Asks the client, and returns its arguments and the response.
  book: {
    isStream: true,
    run: async ({ params }, send) => {
      const id = ++questions;
      send({ id, method: "elicitation/create", params: { message: "Whom else?", requestedSchema: {} } });
      const { result } = await waitFor(() => Promise.resolve(responseTo(id)));
      return said(JSON.stringify([params["arguments"], result]));
    },
  },
};

const servers = useMcpServers({
  store: { tools: storing },
  asking: { generation: "session", tools: asking },
});

function responseTo(id: number): Json | null {
  const message = servers.asking.received.find(({ body }) => body["id"] === id && "result" in body);
  return message?.body ?? null;
}

const plugin = { name: "pii_mask", stage: "pre_request", settings: {} };
const shared = await seedMcp(
  gatehouse,
  { work: servers.store.url },
  { gateway: { required_plugins: [plugin] } },
);

interface Client {
  request(method: string, params: Json): Promise<{ readonly result: Json }>;
}

async function call(client: Client, name: string, args: object): Promise<string> {
  const { result } = await client.request("tools/call", { name, arguments: args });
  return (result["content"] as { text: string }[])[0]?.text ?? "";
}

/** Returns the placeholder that the server gets for a value. */
async function sentFor(client: Client, value: string): Promise<string> {
  expect(await call(client, "keep", { to: value })).toBe(JSON.stringify({ to: value }));
  const { to } = JSON.parse(kept.at(-1) ?? "") as { to: string };
  expect(to).toMatch(/^<EMAIL_\d+>$/);
  return to;
}

async function clientsOf(url: string, headers: Record<string, string>): Promise<Client[]> {
  return [await SessionClient.start(url, { headers }), new StatelessClient(url, headers)];
}

const keyOf = async (gateway: string) => ({ "X-GW-API-Key": (await seedKey(gatehouse, gateway)).key });

const clients = await clientsOf(shared.url, await keyOf(shared.gateway));

describe("a session and a stateless client with an API key", () => {
  test("get no value of this call in place of one of an earlier call", async () => {
    for (const client of clients) {
      kept.length = 0;
      const ann = await sentFor(client, ANN);
      const recalled = await call(client, "recall", { note: BOB });
      expect(recalled).toBe([JSON.stringify({ to: ann }), JSON.stringify({ note: BOB })].join("\n"));
    }
  });

  test("have one placeholder for a value in all calls, and get the value where the call has it", async () => {
    for (const client of clients) {
      kept.length = 0;
      const [ann, bob] = [await sentFor(client, ANN), await sentFor(client, BOB)];
      expect([await sentFor(client, ANN), bob === ann]).toEqual([ann, false]);
      expect(await call(client, "recall", { note: ANN })).toBe(
        [{ to: ANN }, { to: bob }, { to: ANN }, { note: ANN }].map((each) => JSON.stringify(each)).join("\n"),
      );
    }
  });

  test("a placeholder that the client sends is its text, beside its value too", async () => {
    for (const client of clients) {
      kept.length = 0;
      const ann = await sentFor(client, ANN);
      const args = { quoted: ann, to: ANN, [`about ${ann}`]: 1, other: "<EMAIL_1>" };
      expect(await call(client, "keep", args)).toBe(JSON.stringify(args));
      const sent = JSON.parse(kept.at(-1) ?? "") as typeof args;
      expect(sent).toEqual({ ...args, to: expect.stringMatching(/^<EMAIL_\d+>$/) });
      expect(sent.to).not.toBe(ann);
    }
  });
});

test("other sessions, clients and services have other placeholders for the same value", async () => {
  const [first, second] = [await keyOf(shared.gateway), await keyOf(shared.gateway)];
  const anonymous = () => [new StatelessClient(shared.url), new StatelessClient(shared.url)];
  const other = await seedMcp(
    gatehouse,
    { more: servers.store.url },
    { gateway: shared.gateway, service: "more" },
  );
  const all = [
    ...(await clientsOf(shared.url, first)),
    await SessionClient.start(shared.url, { headers: first }),
    ...(await clientsOf(shared.url, second)),
    ...(await clientsOf(other.url, first)),
    ...anonymous(),
  ];
  const sent: string[] = [];
  for (const client of all) sent.push(await sentFor(client, ANN));
  expect(new Set(sent).size).toBe(all.length);
});

test("a large message has the placeholders of a small one", async () => {
  const client = await SessionClient.start(shared.url);
  kept.length = 0;
  const ann = await sentFor(client, ANN);
  const args = { to: ANN, pad: "x".repeat(300_000) };
  expect(await call(client, "recall", args)).toBe(
    [{ to: ANN }, args].map((each) => JSON.stringify(each)).join("\n"),
  );
  const received = servers.store.received.at(-1)?.params["arguments"];
  expect(received).toMatchObject({ to: ann });
});

/**
 * Calls a tool that asks a question, and responds to it with `content`. Resolves to what the server got of
 * both.
 */
async function book(client: SessionClient, args: object, content: object): Promise<unknown> {
  const params = { name: "book", arguments: args };
  const response = await fetch(client.url, {
    method: "POST",
    headers: {
      "Content-Type": "application/json",
      Accept: "application/json, text/event-stream",
      ...client.allHeaders,
    },
    body: JSON.stringify({ jsonrpc: "2.0", id: "booking", method: "tools/call", params }),
  });
  expect(response.status).toBe(200);
  const decoder = new TextDecoder();
  let [events, question] = ["", ""];
  for await (const chunk of response.body ?? []) {
    events += decoder.decode(chunk, { stream: true });
    if (question !== "") continue;
    question = /"id":(".*?[^\\]"),"method":"elicitation/.exec(events)?.[1] ?? "";
    if (question === "") continue;
    const answered = await client.post(
      `{"jsonrpc":"2.0","id":${question},"result":${JSON.stringify(content)}}`,
    );
    expect(answered.status).toBe(202);
  }
  const text = /"text":(".*?[^\\]")/.exec(events)?.[1] ?? "";
  return JSON.parse(String(JSON.parse(text)));
}

test.each(["inline", "worker", "process"])(
  "a call with a question, and calls after it, with isolation %s",
  async (isolation) => {
    const required_plugins = [{ ...plugin, isolation }];
    const { url } = await seedMcp(gatehouse, { work: servers.asking.url }, { gateway: { required_plugins } });
    const client = await SessionClient.start(url, { capabilities: { elicitation: {} } });

    // The response has the placeholders of the call, and the result has the values of both.
    const before = servers.asking.received.length;
    const content = { to: BOB, cc: ANN };
    expect(await book(client, { to: ANN }, content)).toEqual([{ to: ANN }, content]);
    const sent = JSON.stringify(servers.asking.received.slice(before).map(({ body }) => body));
    expect(sent).not.toContain("@corp.test");
    expect(new Set(sent.match(PLACEHOLDER)).size).toBe(2);
    expect(await book(client, {}, { to: BOB })).toEqual([{}, { to: BOB }]);

    kept.length = 0;
    const ann = await sentFor(client, ANN);
    expect(sent).toContain(ann);
    const recalled = (to: string, note: string) =>
      [{ to }, { note }].map((each) => JSON.stringify(each)).join("\n");
    expect(await call(client, "recall", { note: BOB })).toBe(recalled(ann, BOB));
    expect(await call(client, "recall", { note: ANN })).toBe(recalled(ANN, ANN));

    // A placeholder in the call is not restored to a value of the response, nor the other way around.
    expect(await book(client, { note: ann }, { to: ANN })).toEqual([{ note: ann }, { to: ann }]);
    expect(await book(client, { to: ANN }, { note: ann })).toEqual([{ to: ann }, { note: ann }]);
  },
);
