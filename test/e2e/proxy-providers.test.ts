// Providers: the table of known providers, their endpoints, and addresses to which no request is sent.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { HeaderPair } from "../../src/fake-provider/behavior.ts";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expectProblemsAt } from "../support/admin-fixtures.ts";
import { callApi, PROGRAM, temporaryDirectory, TEST_SECRET } from "../support/gatehouse-process.ts";
import { CHAT, onlyRequest, rawCall, rawJson, seedRoute, targetAt } from "../support/proxy-fixtures.ts";
import { useFakeProvider, useGatehouse } from "../support/use-gatehouse.ts";
import { waitFor } from "../support/waiting.ts";

const [provider, gatehouse] = await Promise.all([useFakeProvider({ name: "Ada" }), useGatehouse()]);

const post = (path: string, body: unknown) => rawJson(gatehouse.proxyUrl, path, body);

const SYSTEM_CHAT = {
  model: "claude-fake",
  messages: [
    { role: "system", content: "Be brief." },
    { role: "user", content: "Good morning" },
  ],
};

describe("providers", () => {
  const createUpstream = async (target: Record<string, unknown>) => {
    const { gateway } = await seedRoute(gatehouse, { upstream: { targets: [targetAt(provider)] } });
    return gatehouse.api("POST", `/gateways/${gateway}/upstreams`, { name: "u", targets: [target] });
  };

  test("the table lists all known providers", async () => {
    const { body } = await gatehouse.api("GET", "/providers");
    const known = (body.providers as { name: string }[]).map(({ name }) => name).sort();
    expect(known).toEqual(
      (
        "openai anthropic azure google mistral groq deepseek openrouter together fireworks xai cohere " +
        "perplexity bedrock ollama vllm"
      )
        .split(" ")
        .sort(),
    );
  });

  test.each([
    "openai",
    "anthropic",
    "google",
    "mistral",
    "groq",
    "deepseek",
    "openrouter",
    "together",
    "fireworks",
  ])("%s needs no base_url", async (name) => {
    expect((await createUpstream({ provider: name })).status).toBe(201);
  });

  test.each(["azure", "bedrock", "ollama", "vllm", "some-other"])("%s requires a base_url", async (name) => {
    expectProblemsAt(await createUpstream({ provider: name }), "targets[0].base_url");
    expect((await createUpstream({ provider: name, base_url: "https://x.example.com" })).status).toBe(201);
  });

  test("requests go to the chat endpoint of the provider, below the target's base_url", async () => {
    const { body } = await gatehouse.api("GET", "/providers");
    const known = body.providers as { name: string; default_path: string }[];
    for (const { name, default_path } of known) {
      const { path } = await seedRoute(gatehouse, {
        upstream: { targets: [targetAt(provider, { provider: name, base_url: `${provider.url}/below` })] },
      });
      provider.reset();
      const response = await post(path, CHAT);
      expect([name, response.header("x-gw-provider")]).toEqual([name, name]);
      expect([name, onlyRequest(provider).target]).toEqual([name, `/below${default_path}`]);
    }
  });

  test("any other name is accepted with a base_url and has the openai format", async () => {
    const { path } = await seedRoute(gatehouse, {
      upstream: { targets: [targetAt(provider, { provider: "my-models" })] },
    });
    const body = JSON.stringify(SYSTEM_CHAT, null, 1);
    const response = await post(path, body);
    expect(response.json()).toMatchObject({ object: "chat.completion" });
    expect(response.header("x-gw-provider")).toBe("my-models");
    expect(onlyRequest(provider).target).toBe("/v1/chat/completions");
    expect(Buffer.from(onlyRequest(provider).body).toString()).toBe(body);
  });

  test("any other name with the anthropic format: requests are translated", async () => {
    const { path } = await seedRoute(gatehouse, {
      upstream: {
        targets: [targetAt(provider, { provider: "my-claude", format: "anthropic", path: "/v1/messages" })],
      },
    });
    expect((await post(path, SYSTEM_CHAT)).json()).toMatchObject({ type: "message" });
    expect(onlyRequest(provider).json()).toHaveProperty("system");
    expect(onlyRequest(provider).header("anthropic-version")).toBe("2023-06-01");
  });

  test.each([
    ["my-claude", "anthropic", "/v1/messages"],
    ["anthropic", "openai", "/v1/chat/completions"],
  ])(
    "without a path, requests go to the chat endpoint of the target's format: %s as %s",
    async (name, format, expected) => {
      const { path } = await seedRoute(gatehouse, {
        upstream: { targets: [targetAt(provider, { provider: name, format })] },
      });
      await post(path, SYSTEM_CHAT);
      expect(onlyRequest(provider).target).toBe(expected);
    },
  );

  test.each([
    "http://169.254.169.254",
    "http://169.254.1.2:8080/latest",
    "http://2852039166",
    "http://0xa9fea9fe",
    "http://0251.0376.0251.0376",
    "http://169.254.43518",
    "http://[fe80::1]",
    "http://[::ffff:169.254.169.254]",
    "http://[::ffff:a9fe:a9fe]",
    "http://[::ffff:0:169.254.169.254]",
    "http://[::169.254.169.254]",
    "http://[64:ff9b::169.254.169.254]",
    "http://[2002:a9fe:a9fe::1]",
    "http://[fd00:ec2::254]",
    "http://[fd00:ec2::23]",
    "http://100.100.100.200",
    "http://metadata.google.internal",
    "http://METADATA.google.internal.",
  ])("link-local and metadata addresses are rejected in base_url: %s", async (base_url) => {
    expectProblemsAt(await createUpstream({ provider: "openai", base_url }), "targets[0].base_url");
  });
});

/** A command that runs in its own mount namespace, in which /etc/hosts is another file. */
const withHostsFile = (hosts: string, command: readonly string[]) => [
  ...["unshare", "--map-root-user", "--mount", "sh", "-c"],
  ...['mount --bind "$0" /etc/hosts && exec "$@"', hosts, ...command],
];

const folder = temporaryDirectory();
const hostsFile = join(folder, "hosts");
/** The hosts of the providers that need no base_url. */
const PROVIDER_HOSTS = {
  openai: "api.openai.com",
  anthropic: "api.anthropic.com",
  google: "generativelanguage.googleapis.com",
  mistral: "api.mistral.ai",
  groq: "api.groq.com",
  deepseek: "api.deepseek.com",
  openrouter: "openrouter.ai",
  together: "api.together.xyz",
  fireworks: "api.fireworks.ai",
  xai: "api.x.ai",
  cohere: "api.cohere.ai",
  perplexity: "api.perplexity.ai",
};
writeFileSync(
  hostsFile,
  [
    "127.0.0.1 localhost good.test",
    "::ffff:169.254.169.254 mapped.test",
    ...["sneaky.test", ...Object.values(PROVIDER_HOSTS)].map((name) => `169.254.169.254 ${name}`),
  ].join("\n"),
);
afterAll(() => rmSync(folder, { recursive: true }));
const canUnshare = Bun.spawnSync(withHostsFile(hostsFile, ["true"])).exitCode === 0;
if (!canUnshare) {
  const warning =
    "Mount namespaces are not permitted here, so tests of name resolution are SKIPPED (run as root)";
  if (process.env["CI"] === "true") throw new Error(`${warning}; in CI that is a failure`);
  process.stderr.write(`\n!!! ${warning}\n\n`);
}

describe.skipIf(!canUnshare)("a name that resolves to a link-local or metadata address", () => {
  let proxy: ReturnType<typeof startProxy>;
  let proxyUrl: string;
  let adminUrl: string;

  /** Starts a second gateway on the same store, for which these names resolve. */
  function startProxy() {
    return Bun.spawn(withHostsFile(hostsFile, [PROGRAM, "serve"]), {
      env: {
        PATH: process.env["PATH"],
        ADMIN_PORT: "0",
        PROXY_PORT: "0",
        DATA_DIR: gatehouse.dataDir,
        SERVER_SECRET_KEY: TEST_SECRET,
        LOG_FORMAT: "json",
      },
      stdout: "pipe",
      stderr: "inherit",
    });
  }

  beforeAll(async () => {
    proxy = startProxy();
    let printed = "";
    const decoder = new TextDecoder();
    void (async () => {
      for await (const chunk of proxy.stdout) printed += decoder.decode(chunk, { stream: true });
    })();
    const urlOf = (what: string) =>
      new RegExp(`"url":"([^"]+)","msg":"${what} listening"`).exec(printed)?.[1];
    proxyUrl = await waitFor(() => urlOf("proxy") ?? null);
    adminUrl = await waitFor(() => urlOf("admin API") ?? null);
  });
  afterAll(async () => {
    proxy.kill("SIGKILL");
    await proxy.exited;
  });

  /** Waits until the other process has the route, which takes up to a second. */
  const responseAt = (path: string) =>
    waitFor(async () => {
      const response = await rawCall(proxyUrl, { target: path });
      return response.status === 404 ? null : response;
    });

  const routeTo = (host: string) =>
    seedRoute(gatehouse, {
      upstream: {
        targets: [targetAt(provider, { base_url: `http://${host}:${provider.port}`, path: "/echo" })],
      },
    });

  test.each(["sneaky.test", "mapped.test", "SNEAKY.test"])("is 502 upstream_forbidden: %s", async (host) => {
    const { path } = await routeTo(host);
    const response = await responseAt(path);
    expect({ status: response.status, code: response.json().code }).toEqual({
      status: 502,
      code: "upstream_forbidden",
    });
    expect((await rawCall(proxyUrl, { target: path })).json().code).toBe("upstream_forbidden");
  });

  test("a WebSocket to such a name is 502 upstream_forbidden", async () => {
    const { path } = await seedRoute(gatehouse, {
      upstream: { targets: [{ provider: "openai", base_url: `http://sneaky.test:${provider.port}` }] },
      rule: { path: "/forbidden/realtime", methods: ["GET"] },
    });
    const headers: HeaderPair[] = [
      ["Connection", "Upgrade"],
      ["Upgrade", "websocket"],
      ["Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="],
      ["Sec-WebSocket-Version", "13"],
    ];
    const response = await waitFor(async () => {
      const received = await rawCall(proxyUrl, { method: "GET", target: path, headers });
      // Until the other process has the route.
      return received.status === 426 ? null : received;
    });
    expect(response.status).toBe(502);
    expect(response.json().code).toBe("upstream_forbidden");
  });

  test("a connection test sends nothing to such a name", async () => {
    const { gateway } = await routeTo("good.test");
    const test = (host: string) =>
      callApi(adminUrl, gatehouse.token, "POST", `/gateways/${gateway}/test-connection`, {
        target: { provider: "openai", base_url: `http://${host}:${provider.port}` },
      });
    provider.reset();
    for (const host of ["sneaky.test", "mapped.test"]) {
      const { body } = await test(host);
      expect(body.checks[0]).toEqual({
        check: "address",
        result: "failed",
        message: `${host} is a link-local or metadata address, to which the gateway sends no request.`,
      });
    }
    expect(provider.requestCount).toBe(0);
    expect((await test("good.test")).body.ok).toBe(true);
  });

  test("other names in the same hosts file are served", async () => {
    const { path } = await routeTo("good.test");
    expect((await responseAt(path)).status).toBe(200);
  });

  test("without a base_url, requests go to the provider's host, which resolves to a forbidden address here", async () => {
    const routes = await Promise.all(
      Object.keys(PROVIDER_HOSTS).map((name) =>
        seedRoute(gatehouse, { upstream: { targets: [{ provider: name }] } }),
      ),
    );
    const codes = await Promise.all(
      routes.map(async ({ path }) => (await responseAt(path)).json().code as string),
    );
    expect(codes).toEqual(codes.map(() => "upstream_forbidden"));
  });
});
