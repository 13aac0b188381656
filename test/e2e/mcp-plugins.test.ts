// Plugins on MCP services: tool_policy, code_sanitation and pii_mask on arguments and results, and hooks of custom plugins.
import { describe, expect, test } from "bun:test";
import { seedMcp, SessionClient, StatelessClient, useMcpServers } from "../support/mcp-fixtures.ts";
import { pluginsDirectory, SCRIPTED_PLUGINS, scripted } from "../support/plugin-fixtures.ts";
import { useGatehouse } from "../support/use-gatehouse.ts";
import { waitFor } from "../support/waiting.ts";

const gatehouse = await useGatehouse({ env: { PLUGINS_DIR: pluginsDirectory(SCRIPTED_PLUGINS) } });

/** Harmless in a repository, and a finding of code_sanitation. */
const CODE = ["SELECT * FROM users WHERE name = '' OR 1=1;", "DROP", "TABLE users; --"].join(" ");
const text = (value: string) => ({ content: [{ type: "text", text: value }] });

const servers = useMcpServers({
  one: {
    generation: "session",
    tools: {
      echo: { run: ({ params }) => text(JSON.stringify(params["arguments"])) },
      structured: { run: () => ({ ...text("fine"), structuredContent: { rows: [{ note: CODE }] } }) },
      bad: { run: () => text(CODE) },
      chatty: {
        isStream: true,
        run: (_, send) => {
          for (const data of ["begin", CODE])
            send({ method: "notifications/message", params: { level: "info", data } });
          return text("end");
        },
      },
      secret: { run: () => text(JSON.stringify({ level: "secret", name: "x" })) },
      ambiguous: { run: () => text('{"level":"secret","level":"public"}') },
    },
  },
});

async function seed(...required_plugins: readonly object[]) {
  const route = await seedMcp(gatehouse, { work: servers.one.url }, { gateway: { required_plugins } });
  return { ...route, client: new StatelessClient(route.url) };
}

function received(name: string): number {
  return servers.one.received.filter(({ params }) => params["name"] === name).length;
}

const denied = (message: string) => ({ error: { code: -32000, message, data: { code: "tool_denied" } } });

describe("tool_policy", () => {
  const policy = seed({
    name: "tool_policy",
    stage: "pre_request",
    settings: {
      rules: [
        {
          tool: "echo",
          source: "called",
          when: { properties: { path: { pattern: "/etc/" } }, required: ["path"] },
          action: "deny",
        },
        { tool: "bad", source: "called", action: "deny" },
        {
          tool: "secret",
          source: "result",
          when: { properties: { level: { const: "secret" } }, required: ["level"] },
          action: "deny",
        },
        {
          tool: "ambiguous",
          source: "result",
          when: { properties: { level: { const: "secret" } }, required: ["level"] },
          action: "deny",
        },
        { tool: "structured", source: "result", action: "strip" },
      ],
    },
  });

  test("denies calls by name and by arguments, before the server gets them", async () => {
    const { client } = await policy;
    const before = [received("bad"), received("echo")];
    const bad = await client.request("tools/call", { name: "bad", arguments: {} });
    expect(bad.status).toBe(403);
    expect(bad.last).toMatchObject(denied('The tool "bad" is not allowed here (called).'));
    const etc = await client.request("tools/call", { name: "echo", arguments: { path: "/etc/shadow" } });
    expect(etc.last).toMatchObject(denied('The tool "echo" is not allowed here (called).'));
    expect([received("bad"), received("echo")]).toEqual(before);
    const other = await client.request("tools/call", { name: "echo", arguments: { path: "/tmp/x" } });
    expect(other.result).toMatchObject(text('{"path":"/tmp/x"}'));
  });

  test("denies and strips results", async () => {
    const { client } = await policy;
    const secret = await client.request("tools/call", { name: "secret", arguments: {} });
    expect(secret.status).toBe(403);
    expect(secret.last).toMatchObject(denied('The tool "secret" is not allowed here (result).'));
    const ambiguous = await client.request("tools/call", { name: "ambiguous", arguments: {} });
    expect(ambiguous.last).toMatchObject(denied('The tool "ambiguous" is not allowed here (result).'));
    const stripped = await client.request("tools/call", { name: "structured", arguments: {} });
    expect(stripped.result).toMatchObject({
      ...text("[removed by tool_policy]"),
      structuredContent: {},
    });
  });
});

describe("tool_policy reads the arguments that the server gets", () => {
  const policy = seed({
    name: "tool_policy",
    stage: "pre_request",
    settings: {
      rules: [
        {
          tool: "echo",
          source: "called",
          when: { properties: { path: { pattern: "/etc/" } }, required: ["path"] },
          action: "deny",
        },
        {
          tool: "echo",
          source: "called",
          when: { properties: { n: { exclusiveMinimum: 5 } }, required: ["n"] },
          action: "deny",
        },
      ],
    },
  });
  const pad = (bytes: number) => `"pad":"${"x".repeat(bytes)}"`;

  describe.each([
    ["a small message", 10],
    ["a message above 64 kB", 100_000],
    ["a message above 256 kB", 400_000],
  ])("%s", (_, bytes) => {
    test.each([
      ["alone", (call: string) => call],
      ["in a batch", (call: string) => `[{"jsonrpc":"2.0","id":7,"method":"ping"},${call}]`],
    ])("%s", async (__, wrap) => {
      const { url } = await policy;
      const client = await SessionClient.start(url, { version: "2025-03-26" });
      const call = (members: string) =>
        client.post(
          wrap(
            `{"jsonrpc":"2.0","id":8,"method":"tools/call","params":{"name":"echo","arguments":{${members},${pad(bytes)}}}}`,
          ),
        );
      const before = received("echo");
      for (const members of [
        `"path":"/etc/shadow"`,
        `"path":"/etc/shadow","path":"/tmp/x"`,
        `"path":"/tmp/x","p\\u0061th":"/etc/shadow"`,
        `"other":{"a":1,"a":2}`,
        `"n":5.00000000000000000001`,
      ]) {
        const denied = await call(members);
        expect([denied.status, members]).toEqual([403, members]);
        expect(denied.text).toContain("tool_denied");
      }
      expect(received("echo")).toBe(before);
      expect((await call(`"path":"/tmp/x","n":5`)).status).toBe(200);
      expect(received("echo")).toBe(before + 1);
    });
  });

  test.each(["method", "params"])(
    "a batch with a message that has two members %s is rejected",
    async (member) => {
      const { url } = await policy;
      const client = await SessionClient.start(url, { version: "2025-03-26" });
      const members = {
        method: `"method":"ping","method":"tools/call"`,
        params: `"method":"tools/call","params":{"name":"echo"},"params":{"name":"echo","arguments":{}}`,
      }[member];
      const rejected = await client.post(`[{"jsonrpc":"2.0","id":1,${members}}]`);
      expect(rejected.status).toBe(400);
      expect(rejected.text).toContain("twice");
    },
  );
});

test.each(["inline", "worker", "process"])(
  "a plugin with isolation %s sees the arguments of a large call",
  async (isolation) => {
    const { url } = await seed({
      ...scripted(
        "pre_request",
        'context.setResponseHeader("X-Pad", String(context.tool?.arguments.pad.length))',
      ),
      isolation,
    });
    const client = await SessionClient.start(url);
    for (const length of [10, 100_000]) {
      const called = await client.request("tools/call", {
        name: "echo",
        arguments: { pad: "x".repeat(length) },
      });
      expect([called.status, called.headers.get("x-pad")]).toEqual([200, String(length)]);
    }
  },
);

describe("code_sanitation", () => {
  const sanitation = (action: string) => ({
    name: "code_sanitation",
    stage: "pre_request",
    settings: { languages: [{ language: "sql" }], content_to_check: ["body", "response"], action },
  });

  test("rejects results with code, as text and as structured content", async () => {
    const { client } = await seed(sanitation("block"));
    for (const name of ["bad", "structured"]) {
      const rejected = await client.request("tools/call", { name, arguments: {} });
      expect(rejected.last).toMatchObject({
        id: expect.any(Number),
        error: { data: { code: "code_injection_detected" } },
      });
      expect(rejected.text).not.toContain("users");
    }
    const before = received("echo");
    const call = await client.request("tools/call", { name: "echo", arguments: { note: CODE } });
    expect(call.last).toMatchObject({ error: { data: { code: "code_injection_detected" } } });
    expect(received("echo")).toBe(before);
    expect((await client.request("tools/call", { name: "echo", arguments: {} })).result).toMatchObject(
      text("{}"),
    );
  });

  test("masks code in arguments and in results", async () => {
    const { client } = await seed(sanitation("sanitize"));
    const masked = await client.request("tools/call", { name: "bad", arguments: {} });
    expect(masked.text).not.toContain("OR 1=1");
    expect(masked.result["content"]).toMatchObject([{ type: "text", text: expect.stringContaining("*") }]);
    await client.request("tools/call", { name: "echo", arguments: { note: CODE } });
    const sent = servers.one.received.findLast(({ params }) => params["name"] === "echo");
    expect(JSON.stringify(sent?.params)).toContain("*");
    expect(JSON.stringify(sent?.params)).not.toContain("OR 1=1");
  });
});

test("post_request changes status and headers of JSON and of streams, once", async () => {
  const { url, client } = await seed(
    scripted(
      "post_request",
      'context.setHeader("X-Seen", `${context.protocol} ${context.provider} ${context.status}`); if (context.tool !== null) context.setStatus(203)',
    ),
  );
  const called = await client.request("tools/call", { name: "echo", arguments: {} });
  expect(called.status).toBe(203);
  expect(called.headers.get("x-seen")).toBe("mcp work 200");
  const list = await client.request("tools/list");
  expect([list.status, list.headers.get("x-seen")]).toEqual([200, "mcp mcp 200"]);
  const abort = new AbortController();
  const session = await SessionClient.start(url);
  const stream = await session.stream(abort.signal);
  expect(stream.headers.get("x-seen")).toBe("mcp mcp 200");
  abort.abort();
});

test("a post_request hook that fails ends the request with its error", async () => {
  const { client } = await seed(scripted("post_request", 'throw new Error("broken")'));
  const failed = await client.request("tools/list");
  expect(failed.status).toBe(500);
  expect(failed.last).toMatchObject({ error: { data: { code: "plugin_failed" } } });
});

describe("in shadow mode", () => {
  /** Resolves to the report of the first plugin when this many results are in it. */
  const reportWith = (gateway: string, ran: number) =>
    waitFor(async () => {
      const { body } = await gatehouse.api("GET", `/gateways/${gateway}/plugins/0/shadow`);
      return Number(body.counts.ran) + Number(body.counts.skipped) >= ran ? body : null;
    });

  test("a plugin runs on results and on messages of streams, and has no effect", async () => {
    const { gateway, url, client } = await seed({
      name: "code_sanitation",
      stage: "pre_request",
      mode: "shadow",
      settings: { languages: [{ language: "sql" }], content_to_check: ["response"], action: "block" },
    });
    const harmless = await client.request("tools/call", { name: "echo", arguments: {} });
    expect(harmless.result).toMatchObject(text("{}"));
    const bad = await client.request("tools/call", { name: "bad", arguments: {} });
    expect(bad.result).toMatchObject(text(CODE));
    const session = await SessionClient.start(url);
    const call = await session.request("tools/call", { name: "chatty" });
    expect(call.messages).toMatchObject([
      { params: { data: "begin" } },
      { params: { data: CODE } },
      { result: text("end") },
    ]);
    const report = await waitFor(async () => {
      const { body } = await gatehouse.api("GET", `/gateways/${gateway}/plugins/0/shadow`);
      return Number(body.counts.responded) >= 2 ? body : null;
    });
    expect(report.counts).toMatchObject({ responded: 2, changed: 0, failed: 0, skipped: 0 });
    expect(report.samples).toMatchObject([
      { request_id: call.headers.get("x-request-id"), status: 400 },
      { request_id: bad.headers.get("x-request-id"), status: 400 },
    ]);
  });

  test("a plugin sees the tool and the server, and cannot change the arguments that are sent", async () => {
    const code = `
      const { tool, protocol } = context;
      context.setDetail([protocol, tool?.name, JSON.stringify(tool?.arguments)].join(" "));
      if (tool !== null) tool.arguments.path = "/changed";
      throw new Error("recorded");`;
    const { gateway, client } = await seed({ ...scripted("pre_request", code), mode: "shadow" });
    const called = await client.request("tools/call", { name: "echo", arguments: { path: "/tmp/x" } });
    expect(called.result).toMatchObject(text('{"path":"/tmp/x"}'));
    const { samples } = await reportWith(gateway, 1);
    expect(samples[0]).toMatchObject({ outcome: "failed" });
    expect(samples[0].detail).toContain('mcp echo {"path":"/tmp/x"}');
    const seen = await seed({
      ...scripted("pre_response", 'context.setDetail(context.provider); context.replaceChunk("gone")'),
      mode: "shadow",
    });
    await seen.client.request("tools/call", { name: "echo", arguments: {} });
    const { samples: results } = await reportWith(seen.gateway, 1);
    expect(results[0]).toMatchObject({ outcome: "changed" });
    expect(results[0].detail).toContain("work");
  });
});
