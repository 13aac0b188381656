// Explanations of requests to MCP services: by the Admin API, by the CLI, and of recorded requests.
import { describe, expect, test } from "bun:test";
import { seedMcp, StatelessClient, useMcpServers } from "../support/mcp-fixtures.ts";
import { seedKey } from "../support/proxy-fixtures.ts";
import { expectOneLine, runCommand, settingsOf } from "../support/run-command.ts";
import { useGatehouseProcess } from "../support/use-gatehouse.ts";
import { waitUntil } from "../support/waiting.ts";

const gatehouse = await useGatehouseProcess();
const servers = useMcpServers({
  one: { tools: { read: {}, write: {}, drop: {} } },
  two: { tools: { find: {} } },
});

const limits = { per_tool: { limit: 5, window: "1h" } };
const route = await seedMcp(
  gatehouse,
  {
    files: { url: servers.one.url, tools: { deny: ["drop"] }, pin: "hold" },
    web: { url: servers.two.url, tools: { allow: ["find"] } },
  },
  { gateway: { required_plugins: [{ name: "rate_limiter", stage: "pre_request", settings: { limits } }] } },
);
const key = await seedKey(gatehouse, route.gateway, {
  name: "reader",
  tools: ["files__read", "files__drop", "web__*"],
});
await new StatelessClient(route.url).request("tools/list");

interface ExplainedMcp {
  readonly tool: string;
  readonly server: { readonly name: string } | null;
  readonly allowed: boolean | null;
  readonly reason: string;
  readonly servers: readonly { readonly name: string; readonly next: boolean }[];
}

interface Explained {
  readonly mcp: ExplainedMcp;
  readonly answer: { readonly status: number; readonly code: string; readonly error: string } | null;
  readonly limits: readonly object[];
  readonly plugins: readonly object[];
}

async function explain(mcp: object, fields: object = {}): Promise<Explained> {
  const { body } = await gatehouse.api("POST", `/gateways/${route.gateway}/explain`, {
    path: route.path,
    api_key: key.id,
    mcp,
    ...fields,
  });
  return body as Explained;
}

let missing = 0;

/** A tool that is missing in the list may be new: the list is fetched again. Each name has its own limit. */
async function fetchList(): Promise<void> {
  await new StatelessClient(route.url).request("tools/call", { name: `files__missing-${++missing}` });
}

const call = (name: string) => ({ method: "tools/call", params: { name, arguments: {} } });

/** Waits until the node has written what it has seen. */
await waitUntil(async () => (await explain(call("files__read"))).mcp.allowed === true);

describe("prompts, resources and completions", () => {
  const denied = (name: string) => `the tools of the API key "reader" do not include ${name}`;

  test.each([
    ["prompts/get", { name: "web__greet" }, true, "the server decides whether it exists"],
    ["prompts/get", { name: "files__greet" }, false, denied("files__greet")],
    ["resources/read", { uri: "web+memo://a" }, true, "the server decides whether it exists"],
    ["resources/read", { uri: "files+memo://a" }, false, denied("files__memo://a")],
    [
      "completion/complete",
      { ref: { type: "ref/prompt", name: "files__greet" }, argument: { name: "a", value: "" } },
      false,
      denied("files__greet"),
    ],
  ])("%s of %o", async (method, params, allowed, reason) => {
    expect((await explain({ method, params })).mcp).toMatchObject({ allowed, reason });
  });
});

describe("the call of a tool", () => {
  test("that the key may use names its server, limits and plugins, and sends nothing", async () => {
    const before = servers.one.received.length;
    const explained = await explain(call("files__read"));
    expect(explained.answer).toBeNull();
    expect(explained.mcp).toMatchObject({
      method: "tools/call",
      tool: "files__read",
      server: { name: "files" },
      allowed: true,
      servers: [
        { name: "files", next: true },
        { name: "web", next: false },
      ],
    });
    expect(explained.limits).toMatchObject([{ type: "per_tool", limit: 5, remaining: 4 }]);
    expect(explained.plugins).toMatchObject([{ name: "rate_limiter" }]);
    expect(servers.one.received.length).toBe(before);
  });

  test.each([
    ["files__write", 'the tools of the API key "reader" do not include files__write'],
    ["files__drop", "tools.deny of the server matches drop"],
    ["web__other", "tools.allow of the server does not include other"],
    ["mail__send", "the name begins with the prefix of no server of the service: files__, web__"],
  ])("%s says why it is not offered, and what the client would get", async (name, reason) => {
    const { mcp, answer } = await explain(call(name));
    expect({ allowed: mcp.allowed, reason: mcp.reason }).toEqual({ allowed: false, reason });
    expect(answer).toEqual({ status: 200, code: "mcp_error", error: `Unknown tool: ${name}` });
    const { error } = await new StatelessClient(route.url, { "X-GW-API-Key": key.key }).request(
      "tools/call",
      {
        name,
        arguments: {},
      },
    );
    expect(error?.["message"]).toBe(answer?.error ?? "");
  });

  test("that no list has had is not known", async () => {
    const { mcp, answer } = await explain(call("files__later"), { api_key: undefined });
    expect(mcp).toMatchObject({ allowed: null, server: { name: "files" } });
    expect(answer).toBeNull();
  });

  test("whose definition has changed is not offered until it is approved", async () => {
    servers.one.tools["read"] = { definition: { description: "Another one." } };
    try {
      await waitUntil(async () => {
        await fetchList();
        return (await explain(call("files__read"))).mcp.allowed === false;
      });
      expect((await explain(call("files__read"))).mcp.reason).toBe(
        "its definition has changed and is not approved (pin: hold)",
      );
    } finally {
      servers.one.tools["read"] = {};
    }
    await waitUntil(async () => {
      await fetchList();
      return (await explain(call("files__read"))).mcp.allowed === true;
    });
  });
});

test("a list asks all servers", async () => {
  const { mcp } = await explain({ method: "tools/list" });
  expect(mcp).toMatchObject({
    tool: null,
    server: null,
    allowed: true,
    servers: [{ next: true }, { next: true }],
  });
});

test("a recorded request is explained with its tool", async () => {
  await new StatelessClient(route.url, { "X-GW-API-Key": key.key }).request("tools/call", {
    name: "files__write",
    arguments: {},
  });
  const { body } = await gatehouse.api("GET", `/gateways/${route.gateway}/requests?tool=files__write`);
  const [{ request_id: id }] = body.requests as [{ request_id: string }];
  const replay = await gatehouse.api("POST", `/gateways/${route.gateway}/requests/${id}/explain`);
  expect((replay.body.explanation as Explained).mcp).toMatchObject({ tool: "files__write", allowed: false });
});

test("the command shows the tool and its server", async () => {
  const flags = ["--path", route.path, "--gateway", route.gateway, "--key", "reader"];
  const explained = await runCommand(["explain", ...flags, "--tool", "files__write"], settingsOf(gatehouse));
  expect(explained.stdout).toContain(
    'tools/call files__write: the tools of the API key "reader" do not include files__write',
  );
  expect(explained.stdout).toMatch(/files: the name begins with its prefix, files__/);
  const wrong = await runCommand(
    ["explain", ...flags, "--tool", "files__write", "--arguments", "[]"],
    settingsOf(gatehouse),
  );
  expectOneLine(wrong, 2, `--arguments is "[]"; give a JSON object`);
  const listed = await runCommand(
    ["requests", "--gateway", route.gateway, "--tool", "files__write"],
    settingsOf(gatehouse),
  );
  expect(listed.stdout).toMatch(/tools\/call +files__write/);
});
