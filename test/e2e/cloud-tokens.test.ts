// Targets whose token is fetched: once for all requests, again before it expires, and never from a forbidden address. The clock
// is advanced by the test.
import { beforeEach, describe, expect, test } from "bun:test";
import { startWithProviders } from "../support/gatehouse-in-process.ts";
import { CHAT, onlyRequest, rawJson, seedRoute, targetAt } from "../support/proxy-fixtures.ts";
import { openRealtime, useRealtimeProvider } from "../support/realtime-provider.ts";
import { useTokenServer } from "../support/token-server.ts";
import { waitFor, waitUntil } from "../support/waiting.ts";

const {
  gatehouse,
  providers: [provider, other],
  clock,
} = await startWithProviders("first", "second");
const tokens = useTokenServer();
const realtime = useRealtimeProvider();
let serial = 0;

/** New credentials for each test: a token is kept as long as the process. */
const oauth = (fields: Record<string, unknown> = {}) => ({
  type: "oauth_client_credentials",
  token_url: `${tokens.url}/oauth/token?tenant=a`,
  client_id: `client ${++serial}`,
  client_secret: "a-client-secret-0123456789",
  ...fields,
});
const routeWith = (credentials: unknown, fields: Record<string, unknown> = {}) =>
  seedRoute(gatehouse, { upstream: { targets: [targetAt(provider, { credentials, ...fields })] } });
const send = (path: string) => rawJson(gatehouse.proxyUrl, path, CHAT, [["Authorization", "Bearer client"]]);
const sentTokens = () => provider.requests.map((request) => request.header("authorization"));

let path = "";
beforeEach(async () => void ({ path } = await routeWith(oauth({ scope: "models.read" }))));

test("concurrent requests share one fetch, and later ones use its token without another", async () => {
  const responses = await Promise.all(Array.from({ length: 20 }, () => send(path)));
  expect(responses.map(({ status }) => status)).toEqual(Array<number>(20).fill(200));
  expect((await send(path)).status).toBe(200);
  expect(new Set(sentTokens())).toEqual(new Set(["Bearer token-1"]));
  expect(tokens.requests).toEqual([
    {
      path: "/oauth/token?tenant=a",
      form: {
        grant_type: "client_credentials",
        scope: "models.read",
        client_id: `client ${serial}`,
        client_secret: "a-client-secret-0123456789",
      },
      authorization: null,
    },
  ]);
});

test("equal credentials share a token across targets, gateways and changes of the configuration", async () => {
  const credentials = oauth();
  const first = await routeWith(credentials);
  const second = await routeWith(credentials);
  expect((await send(first.path)).status).toBe(200);
  expect((await send(second.path)).status).toBe(200);
  const at = `/gateways/${first.gateway}/upstreams/${first.upstream}`;
  expect((await gatehouse.api("PATCH", at, { max_attempts: 2 })).status).toBe(200);
  expect((await send(first.path)).status).toBe(200);
  expect(tokens.requests.length).toBe(1);
});

test("a token is replaced in the background before it expires, and no request waits for it", async () => {
  await send(path);
  clock.advance(54 * 60_000);
  await send(path);
  expect(tokens.requests.length).toBe(1);
  const gate = Promise.withResolvers<Response>();
  tokens.respond(() => gate.promise);
  clock.advance(2 * 60_000);
  await send(path);
  await send(path);
  await waitUntil(() => tokens.requests.length === 2);
  gate.resolve(Response.json({ access_token: "fresh", expires_in: 3600 }));
  await waitUntil(async () => {
    await send(path);
    return sentTokens().at(-1) === "Bearer fresh";
  });
  expect(sentTokens().slice(0, 4)).toEqual(Array<string>(4).fill("Bearer token-1"));
  expect(tokens.requests.length).toBe(2);
});

test("a failed refresh keeps the valid token, and is repeated after a pause", async () => {
  await send(path);
  tokens.respond(() => new Response("down", { status: 503 }));
  clock.advance(56 * 60_000);
  for (let times = 0; times < 5; times++) expect((await send(path)).status).toBe(200);
  await waitUntil(() => gatehouse.output().includes("credential fetch failed"));
  for (let times = 0; times < 5; times++) expect((await send(path)).status).toBe(200);
  expect(tokens.requests.length).toBe(2);
  expect(new Set(sentTokens())).toEqual(new Set(["Bearer token-1"]));
});

describe("without a token", () => {
  test("the response is 502 and names the target, and the failure is remembered for a short time", async () => {
    tokens.respond(() =>
      Response.json({ error: "unauthorized_client", error_description: "a secret text" }, { status: 400 }),
    );
    for (let times = 0; times < 5; times++) {
      const response = await send(path);
      expect(response.status).toBe(502);
      expect(response.json()).toMatchObject({
        code: "upstream_credentials",
        error:
          'No credentials for target 1 (openai) of upstream "models": the token server responded with status 400 (unauthorized_client).',
      });
      expect(response.header("x-gw-attempts")).toBe("1");
    }
    expect(tokens.requests.length).toBe(1);
    expect(provider.requestCount).toBe(0);
    clock.advance(1100);
    await send(path);
    expect(tokens.requests.length).toBe(2);
    expect(gatehouse.output()).not.toContain("a secret text");
    expect(gatehouse.output()).not.toContain("a-client-secret-0123456789");
  });

  test("another target is tried, and the target without a token is ejected like one that fails", async () => {
    tokens.respond(() => new Response("down", { status: 503 }));
    const targets = [
      targetAt(provider, { credentials: oauth() }),
      targetAt(other, { priority: 2, credentials: { header_name: "x-key", header_value: "a key" } }),
    ];
    const route = await seedRoute(gatehouse, {
      upstream: { targets, health_checks: { passive: true, threshold: 2 } },
    });
    const attempts = [];
    for (let times = 0; times < 3; times++) {
      const response = await send(route.path);
      expect(response.status).toBe(200);
      attempts.push(response.header("x-gw-attempts"));
    }
    expect(attempts).toEqual(["2", "2", "1"]);
    expect(other.requestCount).toBe(3);
    expect(provider.requestCount).toBe(0);
  });

  test("a token server that does not respond is given up after ten seconds", async () => {
    const never = Promise.withResolvers<Response>();
    tokens.respond(() => never.promise);
    const response = send(path);
    await waitUntil(() => tokens.requests.length === 1);
    clock.advance(10_100);
    expect((await response).json()).toMatchObject({
      code: "upstream_credentials",
      error: expect.stringContaining("did not respond in time"),
    });
    never.resolve(new Response());
  });

  test("a client that disconnects does not abort the fetch that others wait for", async () => {
    const gate = Promise.withResolvers<Response>();
    tokens.respond(() => gate.promise);
    const abort = new AbortController();
    const body = JSON.stringify(CHAT);
    const left = fetch(gatehouse.proxyUrl + path, { method: "POST", body, signal: abort.signal });
    await waitUntil(() => tokens.requests.length === 1);
    const waiting = send(path);
    abort.abort();
    expect(await left.catch(() => "disconnected")).toBe("disconnected");
    gate.resolve(Response.json({ access_token: "late", expires_in: 60 }));
    expect((await waiting).status).toBe(200);
    expect(onlyRequest(provider).header("authorization")).toBe("Bearer late");
  });

  test.each([
    ["is too large", () => new Response(`{"access_token": "${"x".repeat(100_000)}"}`)],
    ["is no JSON", () => new Response("<html>")],
    ["has no token", () => Response.json({ token: "x" })],
    ["has a line break in its token", () => Response.json({ access_token: "x\r\nEvil: 1" })],
    ["is a redirect", () => Response.redirect(`${provider.url}/steal`, 307)],
    ["is of another type", () => Response.json({ access_token: "x", token_type: "mac" })],
    ["has expired", () => Response.json({ access_token: "x", expires_in: 0 })],
  ])("a response of the token server is rejected that %s", async (_, respond) => {
    tokens.respond(respond);
    expect((await send(path)).json()).toMatchObject({ code: "upstream_credentials" });
    expect(provider.requestCount).toBe(0);
  });
});

describe("while a request waits for its token", () => {
  const timeouts = { connect: 100, first_byte: 200, total: 5000 };
  const seedWaiting = async () => {
    const gate = Promise.withResolvers<Response>();
    tokens.respond(() => gate.promise);
    const targets = [targetAt(provider, { credentials: oauth() })];
    const route = await seedRoute(gatehouse, { upstream: { targets, timeouts } });
    const response = send(route.path);
    await waitUntil(() => tokens.requests.length === 1);
    return { gate, response };
  };

  test("the timeouts for the provider do not run", async () => {
    const { gate, response } = await seedWaiting();
    clock.advance(3000);
    gate.resolve(Response.json({ access_token: "slow" }));
    expect((await response).status).toBe(200);
  });

  test("the total timeout does", async () => {
    const { gate, response } = await seedWaiting();
    clock.advance(5100);
    expect((await response).json()).toMatchObject({ code: "upstream_timeout" });
    gate.resolve(new Response());
    expect(provider.requestCount).toBe(0);
  });
});

test("fetches are counted by type and result", async () => {
  const count = async (result: string) => {
    const text = await (await fetch(`${gatehouse.adminUrl}/metrics`)).text();
    const series = `gatehouse_credential_fetches_total{type="oauth_client_credentials",result="${result}"} `;
    return Number(
      text
        .split("\n")
        .find((line) => line.startsWith(series))
        ?.slice(series.length) ?? 0,
    );
  };
  const before = [await count("fetched"), await count("failed")];
  await send(path);
  tokens.respond(() => new Response("down", { status: 503 }));
  await send((await routeWith(oauth())).path);
  expect([await count("fetched"), await count("failed")]).toEqual(before.map((each) => each + 1));
});

test("a token server that rejects the client in the body gets it in the Authorization header", async () => {
  tokens.respond(({ authorization }) =>
    authorization === null
      ? Response.json({ error: "invalid_client" }, { status: 401 })
      : Response.json({ access_token: "basic", expires_in: 100 }),
  );
  const route = await routeWith(oauth({ client_id: "a b", client_secret: "pass:%" }));
  expect((await send(route.path)).status).toBe(200);
  expect(onlyRequest(provider).header("authorization")).toBe("Bearer basic");
  expect(tokens.requests.at(-1)).toEqual({
    path: "/oauth/token?tenant=a",
    form: { grant_type: "client_credentials" },
    authorization: `Basic ${btoa("a+b:pass%3A%25")}`,
  });
});

test("a token that a provider repeats is not recorded with the bodies of requests", async () => {
  tokens.respond(() => Response.json({ access_token: "a-token/of-no-known+shape", expires_in: 600 }));
  const route = await seedRoute(gatehouse, {
    gateway: { log_bodies: true },
    upstream: { targets: [targetAt(provider, { credentials: oauth() })] },
  });
  provider.behave((request) => ({ text: `echo ${request.header("authorization")?.split(" ")[1] ?? ""}` }));
  expect((await send(route.path)).body.toString()).toContain("echo a-token/of-no-known+shape");
  const { bodies } = await waitFor(async () => {
    const { body } = await gatehouse.api("GET", `/gateways/${route.gateway}/requests`);
    return (body.requests[0] as { bodies: { response: string } } | undefined) ?? null;
  });
  expect(bodies.response).toContain("echo");
  expect(bodies.response).not.toContain("of-no-known");
});

test("the handshake of a WebSocket waits for the token and carries it", async () => {
  const route = await seedRoute(gatehouse, {
    upstream: {
      targets: [{ provider: "openai", base_url: realtime.url, path: "/v1/realtime", credentials: oauth() }],
    },
    rule: { path: "/cloud/realtime", methods: ["GET"] },
  });
  const client = await openRealtime(gatehouse.proxyUrl + route.path);
  client.socket.close();
  expect(realtime.handshakes.map(({ headers }) => headers.get("authorization"))).toEqual(["Bearer token-1"]);
});

test("a token is never fetched from a link-local or metadata address", async () => {
  for (const token_url of [
    "http://169.254.169.254/token",
    "http://[fd00:ec2::254]/token",
    "http://metadata/",
  ]) {
    const response = await gatehouse.api("POST", "/gateways", { name: `g ${++serial}` });
    const created = await gatehouse.api("POST", `/gateways/${response.body.id}/upstreams`, {
      name: "u",
      targets: [{ provider: "openai", credentials: oauth({ token_url }) }],
    });
    expect(created.status).toBe(400);
    expect(created.body.details[0].path).toBe("targets[0].credentials.token_url");
  }
});
