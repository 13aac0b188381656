// Tests of connections to targets: what each check reports, which request is sent, and which credential with it.
import { afterAll, beforeEach, describe, expect, setDefaultTimeout, test } from "bun:test";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server as TcpServer } from "node:net";
import { join } from "node:path";
import { mintToken } from "../../src/cli/mint-token.ts";
import { create, expectError, expectProblemsAt, MISSING_ID } from "../support/admin-fixtures.ts";
import { createCertificate } from "../support/certificates.ts";
import { callApi, temporaryDirectory, TEST_SECRET, type ApiResponse } from "../support/gatehouse-process.ts";
import { isInstalled } from "../support/required-program.ts";
import { runCommand, settingsOf } from "../support/run-command.ts";
import { useTokenServer } from "../support/token-server.ts";
import { useGatehouseProcess } from "../support/use-gatehouse.ts";
import { waitFor } from "../support/waiting.ts";

setDefaultTimeout(60_000);
const directory = temporaryDirectory();
afterAll(() => rmSync(directory, { recursive: true, force: true }));
const hasOpenssl = isInstalled(Bun.which("openssl"), {
  name: "openssl",
  tests: "the tests of certificates",
  install: "apt-get install openssl",
});
const authorities = join(directory, "authorities.pem");
const valid = hasOpenssl
  ? createCertificate(directory, "valid", ["20200101000000Z", "20990101000000Z"])
  : null;
const expired = hasOpenssl
  ? createCertificate(directory, "expired", ["20200101000000Z", "20200102000000Z"])
  : null;
const unknown = hasOpenssl
  ? createCertificate(directory, "unknown", ["20200101000000Z", "20990101000000Z"])
  : null;
writeFileSync(
  authorities,
  [valid, expired].map((each) => (each === null ? "" : readFileSync(each.cert, "utf8"))).join("\n"),
);

const gatehouse = await useGatehouseProcess({ env: hasOpenssl ? { NODE_EXTRA_CA_CERTS: authorities } : {} });
const tokens = useTokenServer();

interface Seen {
  readonly method: string;
  readonly path: string;
  readonly headers: Headers;
}

const KEY = "Bearer valid-key-0123456789";
const seen: Seen[] = [];
let respond: (request: Request) => Response | Promise<Response>;
/** Lists its models for the right key. */
const listModels = (request: Request): Response =>
  request.headers.get("authorization") === KEY
    ? Response.json({ object: "list", data: [{ id: "m" }] })
    : Response.json({ error: { message: "Incorrect API key provided." } }, { status: 401 });
const provider = Bun.serve({
  port: 0,
  hostname: "127.0.0.1",
  fetch: (request) => {
    const { pathname, search } = new URL(request.url);
    seen.push({ method: request.method, path: pathname + search, headers: request.headers });
    return respond(request);
  },
});
afterAll(() => provider.stop(true));
beforeEach(() => {
  seen.length = 0;
  respond = listModels;
});

const gateway: string = (await create(gatehouse, "/gateways", { name: "tested" })).id;
const at = `/gateways/${gateway}/test-connection`;
const header = (header_value = KEY) => ({ header_name: "Authorization", header_value });
const targetWith = (fields: object = {}) => ({
  provider: "vllm",
  base_url: provider.url.origin,
  credentials: header(),
  ...fields,
});
const runTest = (target: object) => gatehouse.api("POST", at, { target });

/** Returns `[result, message]` of each check. */
function checksOf({ status, body }: ApiResponse): Record<string, [string, string]> {
  expect([status, body]).toEqual([200, expect.anything()]);
  const checks = body.checks as { check: string; result: string; message: string }[];
  expect(checks.map(({ check }) => check)).toEqual(["address", "tls", "response", "credential"]);
  expect(body.ok).toBe(checks.every(({ result }) => result !== "failed"));
  return Object.fromEntries(checks.map(({ check, result, message }) => [check, [result, message]]));
}

describe("credential", () => {
  test("a credential that the provider accepts, while it rejects requests without one", async () => {
    const response = await runTest(targetWith());
    const { address, tls, credential } = checksOf(response);
    expect(response.body).toMatchObject({ ok: true, status: 200, url: `${provider.url.origin}/v1/models` });
    expect(address?.[0]).toBe("passed");
    expect(tls).toEqual(["not_checked", expect.stringContaining("not encrypted")]);
    expect(credential).toEqual([
      "passed",
      "The provider accepted the credential, and rejects requests without it.",
    ]);
    expect(seen.map(({ method, path, headers }) => [method, path, headers.get("authorization")])).toEqual([
      ["GET", "/v1/models", KEY],
      ["GET", "/v1/models", null],
    ]);
  });

  test("a rejected credential with what the provider says", async () => {
    const { credential } = checksOf(
      await runTest(targetWith({ credentials: header("Bearer wrong-key-99") })),
    );
    expect(credential).toEqual([
      "failed",
      "The provider rejected the credential with status 401: “Incorrect API key provided.”.",
    ]);
  });

  test("a server that lists its models to everyone checks no credential", async () => {
    respond = () => Response.json({ data: [] });
    const response = await runTest(targetWith());
    expect(response.body.ok).toBe(true);
    expect(checksOf(response).credential).toEqual([
      "not_checked",
      expect.stringContaining("without one too"),
    ]);
  });

  test("a provider without a free request: credential not checked", async () => {
    respond = () => new Response("", { status: 405 });
    const response = await runTest(targetWith({ provider: "perplexity" }));
    expect(checksOf(response).credential).toEqual([
      "not_checked",
      "Credential not checked: the provider has no free request for it.",
    ]);
    expect(seen.map(({ method, path }) => `${method} ${path}`)).toEqual(["GET /chat/completions"]);
  });

  test("a target without a credential", async () => {
    const { credential } = checksOf(await runTest(targetWith({ credentials: null })));
    expect(credential?.[0]).toBe("not_checked");
    expect(credential?.[1]).toContain("that of the client is forwarded");
  });

  test.each([
    ["openai", {}, "/v1/models"],
    ["anthropic", {}, "/v1/models"],
    ["azure", {}, "/openai/v1/models"],
    ["google", {}, "/v1beta/openai/models"],
    ["google", { format: "gemini" }, "/v1beta/models"],
    ["openrouter", {}, "/api/v1/key"],
    ["cohere", {}, "/v1/models"],
    ["deepseek", {}, "/models"],
    ["deepseek", { format: "anthropic" }, "/anthropic/v1/messages"],
    ["vertex", { path: "/chat/completions" }, "/models"],
    ["my-own", { path: "/api/v4/chat/completions" }, "/api/v4/models"],
    ["my-own", { path: "/generate" }, "/generate"],
  ])("%s with %p is asked at %s", async (name, fields, path) => {
    await runTest(targetWith({ provider: name, ...fields }));
    expect(seen[0]?.path).toBe(path);
  });

  test("headers that the format requires are sent", async () => {
    await runTest(targetWith({ provider: "anthropic" }));
    expect(seen[0]?.headers.get("anthropic-version")).toMatch(/^\d{4}-/);
  });
});

describe("response", () => {
  test.each([
    [503, /returned 503: “overloaded”/],
    [302, /returned 302, a redirect to https:\/\/elsewhere\.example/],
  ])("status %d is a failure", async (status, message) => {
    respond = () =>
      Response.json(
        { message: "overloaded" },
        { status, headers: { Location: "https://elsewhere.example/x" } },
      );
    const { response, credential } = checksOf(await runTest(targetWith()));
    expect(response).toEqual(["failed", expect.stringMatching(message)]);
    expect(credential?.[0]).toBe("not_checked");
  });

  test("a response that does not arrive within the timeout of the upstream", async () => {
    const upstream = await create(gatehouse, `/gateways/${gateway}/upstreams`, {
      name: "slow",
      timeouts: { first_byte: 100 },
      targets: [targetWith()],
    });
    respond = () => new Promise(() => undefined);
    const body = { upstream_id: upstream.id, target_id: upstream.targets[0].id };
    const { address, response } = checksOf(await gatehouse.api("POST", at, body));
    expect(address?.[0]).toBe("passed");
    expect(response).toEqual(["failed", expect.stringContaining("did not respond within 100 ms")]);
  });

  test("a server that does not speak HTTP", async () => {
    const server = await listenTcp((socket) => socket.end("220 mail.example ESMTP\r\n"));
    const { response } = checksOf(
      await runTest(targetWith({ base_url: `http://127.0.0.1:${portOf(server)}` })),
    );
    expect(response?.[0]).toBe("failed");
    server.close();
  });
});

async function listenTcp(onConnection: Parameters<typeof createServer>[1]): Promise<TcpServer> {
  const server = createServer({}, onConnection);
  const { promise, resolve } = Promise.withResolvers<undefined>();
  server.listen(0, "127.0.0.1", () => resolve(undefined));
  await promise;
  return server;
}

function portOf(server: TcpServer): number {
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("the server has no port");
  return address.port;
}

describe("address", () => {
  test("a name that does not resolve", async () => {
    // No DNS server is asked for a name with a label of more than 63 characters.
    const name = `${"n".repeat(64)}.invalid`;
    const { address, credential } = checksOf(await runTest(targetWith({ base_url: `https://${name}` })));
    expect(address).toEqual(["failed", expect.stringContaining(`The name ${name} does not resolve`)]);
    expect(credential?.[0]).toBe("not_checked");
  });

  test("a port that refuses connections", async () => {
    const server = await listenTcp(() => undefined);
    const port = portOf(server);
    server.close();
    const { address } = checksOf(await runTest(targetWith({ base_url: `http://127.0.0.1:${port}` })));
    expect(address).toEqual(["failed", expect.stringContaining(`127.0.0.1:${port} refused the connection`)]);
  });

  test("a target without an address is a validation error", async () => {
    expectProblemsAt(await runTest({ provider: "azure" }), "target.base_url");
    expectProblemsAt(await runTest(targetWith({ base_url: "http://169.254.169.254" })), "target.base_url");
  });
});

describe.if(hasOpenssl)("tls", () => {
  const serve = (files: typeof valid) => {
    const options = { key: Bun.file(files?.key ?? ""), cert: Bun.file(files?.cert ?? "") };
    const server = Bun.serve({ port: 0, hostname: "127.0.0.1", tls: options, fetch: listModels });
    afterAll(() => server.stop(true));
    return server.port;
  };
  const port = hasOpenssl ? serve(valid) : 0;
  const tlsOf = async (base_url: string) => checksOf(await runTest(targetWith({ base_url }))).tls;

  test("a valid certificate", async () => {
    expect(await tlsOf(`https://localhost:${port}`)).toEqual(["passed", expect.stringContaining("is valid")]);
  });

  test("a certificate for another name", async () => {
    expect(await tlsOf(`https://127.0.0.1:${port}`)).toEqual([
      "failed",
      expect.stringContaining("is not for the name 127.0.0.1"),
    ]);
  });

  test("a certificate that has expired", async () => {
    expect(await tlsOf(`https://localhost:${serve(expired)}`)).toEqual([
      "failed",
      expect.stringContaining("has expired"),
    ]);
  });

  test("a certificate from an unknown authority", async () => {
    expect(await tlsOf(`https://localhost:${serve(unknown)}`)).toEqual([
      "failed",
      expect.stringContaining("is not from a trusted authority"),
    ]);
  });

  test("https for a server without TLS", async () => {
    const [result, message] = (await tlsOf(provider.url.origin.replace("http:", "https:"))) ?? [];
    expect([result, message]).toEqual(["failed", expect.stringContaining("Check http or https")]);
  });
});

describe("stored targets", () => {
  test("a stored target is tested with its stored credential, which is never returned", async () => {
    const upstream = await create(gatehouse, `/gateways/${gateway}/upstreams`, {
      name: "stored",
      targets: [targetWith()],
    });
    const [{ id: target_id }] = upstream.targets;
    const byId = await gatehouse.api("POST", at, { upstream_id: upstream.id, target_id });
    expect(checksOf(byId).credential?.[0]).toBe("passed");
    expect(JSON.stringify(byId.body)).not.toContain("valid-key");
    const [masked] = upstream.targets;
    const edited = { ...masked, weight: 7 };
    expect(
      checksOf(await gatehouse.api("POST", at, { upstream_id: upstream.id, target: edited })).credential?.[0],
    ).toBe("passed");
  });

  test("a stored secret is not sent to another address", async () => {
    const upstream = await create(gatehouse, `/gateways/${gateway}/upstreams`, {
      name: "moved",
      targets: [targetWith()],
    });
    const moved = { ...upstream.targets[0], base_url: "http://localhost:9" };
    const response = await gatehouse.api("POST", at, { upstream_id: upstream.id, target: moved });
    expectError(response, 400, "credential_required");
    expect(response.body.details[0].path).toBe("target.credentials.header_value");
    expect(seen).toEqual([]);
  });

  test("unknown upstreams and targets are 404, and a body without a target is 400", async () => {
    const { id } = await create(gatehouse, `/gateways/${gateway}/upstreams`, {
      name: "u",
      targets: [targetWith()],
    });
    const send = (body: object) => gatehouse.api("POST", at, body);
    expectError(await send({ upstream_id: MISSING_ID, target_id: MISSING_ID }), 404, "not_found");
    expectError(await send({ upstream_id: id, target_id: MISSING_ID }), 404, "not_found");
    expectProblemsAt(await send({}), "target");
    expectProblemsAt(await send({ target_id: MISSING_ID }), "upstream_id");
    expectProblemsAt(
      await send({ upstream_id: id, target_id: MISSING_ID, target: targetWith() }),
      "target_id",
    );
  });

  test("an operator tests with stored credentials, and a viewer does not", async () => {
    const upstream = await create(gatehouse, `/gateways/${gateway}/upstreams`, {
      name: "r",
      targets: [targetWith()],
    });
    const body = { upstream_id: upstream.id, target_id: upstream.targets[0].id };
    const as = async (role: "viewer" | "operator") =>
      callApi(gatehouse.adminUrl, await mintToken(TEST_SECRET, 600, role, { role }), "POST", at, body);
    expectError(await as("viewer"), 403, "forbidden");
    expect(checksOf(await as("operator")).credential?.[0]).toBe("passed");
  });
});

describe("cloud credentials", () => {
  const oauth = () => ({
    type: "oauth_client_credentials",
    token_url: `${tokens.url}/token`,
    client_id: "app",
    client_secret: "a client secret",
  });

  test("a token is fetched and sent", async () => {
    respond = (request) =>
      request.headers.get("authorization") === "Bearer token-1"
        ? Response.json({ data: [] })
        : new Response("", { status: 401 });
    const { credential } = checksOf(await runTest(targetWith({ credentials: oauth() })));
    expect(credential?.[0]).toBe("passed");
  });

  test("a token server that rejects the client is a failure of the credential", async () => {
    tokens.respond(() => Response.json({ error: "invalid_client" }, { status: 401 }));
    const credentials = { ...oauth(), client_id: "other" };
    const { address, credential } = checksOf(await runTest(targetWith({ credentials })));
    expect(address?.[0]).toBe("not_checked");
    expect(credential).toEqual(["failed", expect.stringContaining("status 401 (invalid_client)")]);
    expect(seen).toEqual([]);
  });

  test("a provider without a free request reports that the token was issued", async () => {
    respond = () => new Response("", { status: 404 });
    const { credential } = checksOf(await runTest(targetWith({ provider: "vertex", credentials: oauth() })));
    expect(credential).toEqual(["not_checked", expect.stringContaining("The token server issued a token.")]);
  });

  test("a request is signed for AWS", async () => {
    const credentials = {
      type: "aws_sigv4",
      region: "us-east-1",
      service: "bedrock",
      access_key_id: "AKID",
      secret_access_key: "a secret access key",
    };
    respond = () => Response.json({ message: "The security token is invalid." }, { status: 401 });
    const { credential } = checksOf(await runTest(targetWith({ provider: "bedrock", credentials })));
    expect(credential).toEqual(["failed", expect.stringContaining("The security token is invalid.")]);
    const [request] = seen;
    expect(request?.headers.get("authorization")).toStartWith("AWS4-HMAC-SHA256 Credential=AKID/");
  });

  test("the role of the environment needs ALLOW_ENVIRONMENT_CREDENTIALS", async () => {
    const credentials = { type: "aws_sigv4", region: "us-east-1", service: "bedrock" };
    expectProblemsAt(await runTest(targetWith({ credentials })), "target.credentials");
  });
});

describe("limits", () => {
  test("at most 8 tests run at once", async () => {
    const gate = Promise.withResolvers<Response>();
    respond = async () => (await gate.promise).clone() as Response;
    const running = Array.from({ length: 8 }, () => runTest(targetWith({ credentials: null })));
    await waitFor(() => (seen.length === 8 ? true : null));
    expectError(await runTest(targetWith()), 429, "too_many_connection_tests");
    gate.resolve(Response.json({ data: [] }));
    for (const response of await Promise.all(running)) expect(response.body.ok).toBe(true);
    respond = listModels;
    expect((await runTest(targetWith())).status).toBe(200);
  });

  test("what the provider says is one line of at most 300 characters, without the key that was sent", async () => {
    const secret = "Bearer zq-0123456789abcdefghijklmnop";
    respond = () =>
      Response.json(
        {
          error: {
            message: `bad\nkey\u202e zq-0123456789abcdefghijklmnop, "789abcdefgh…" ${"x".repeat(1000)}`,
          },
        },
        { status: 401 },
      );
    const [result, message = ""] =
      checksOf(await runTest(targetWith({ credentials: header(secret) }))).credential ?? [];
    expect(result).toBe("failed");
    expect(message).toContain('“bad key ***, "***" xxx');
    expect(message.length).toBeLessThan(380);
    expect(message).not.toMatch(/[\n\u202e]/);
  });

  test("a large error page is not shown", async () => {
    respond = () => new Response("x".repeat(100_000), { status: 401 });
    const { credential } = checksOf(await runTest(targetWith()));
    expect(credential).toEqual(["failed", "The provider rejected the credential with status 401."]);
  });
});

describe("gatehouse test-connection", () => {
  test("prints the checks of each target and exits with 1 if one failed", async () => {
    const { id } = await create(gatehouse, "/gateways", { name: "with targets" });
    const targets = [targetWith(), targetWith({ credentials: header("Bearer not the key") })];
    await create(gatehouse, `/gateways/${id}/upstreams`, { name: "two", targets });
    const run = (...args: string[]) =>
      runCommand(["test-connection", "--gateway", "with targets", ...args], settingsOf(gatehouse));
    const { code, stdout } = await run();
    expect(code).toBe(1);
    expect(stdout).toContain("two, target 1 (vllm)");
    expect(stdout).toMatch(/credential {2}passed {2}The provider accepted/);
    expect(stdout).toMatch(/credential {2}failed {2}The provider rejected/);
    const json = await run("two", "--json");
    expect(JSON.parse(json.stdout).map(({ test: { ok } }: { test: { ok: boolean } }) => ok)).toEqual([
      true,
      false,
    ]);
    expect((await run("three")).stderr).toContain('the gateway has no upstream "three"');
  });
});
