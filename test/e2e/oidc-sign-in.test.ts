// Sign-in to the console with a real OpenID provider: roles of groups, cookies, sessions, sign-out, and requests of other sites.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { callApi } from "../support/gatehouse-process.ts";
import { CookieBrowser } from "../support/cookie-browser.ts";
import { create, expectError } from "../support/admin-fixtures.ts";
import { startGatehouseInProcess, type GatehouseInProcess } from "../support/gatehouse-in-process.ts";
import {
  CLIENT,
  signInAtProvider,
  startOpenIdProvider,
  type OpenIdProvider,
} from "../support/openid-provider.ts";
import { waitUntil } from "../support/waiting.ts";

const PUBLIC_URL = "https://gatehouse.test";
const SESSION = "__Host-gatehouse_session";
const GROUPS: Readonly<Record<string, readonly string[]>> = {
  alice: ["staff", "platform", "other"],
  bob: ["oncall", "staff"],
  carol: ["staff"],
  dave: ["other"],
};
const groupsOf = (user: string) => GROUPS[user] ?? [];

let provider: OpenIdProvider;
let gatehouse: GatehouseInProcess;
beforeAll(async () => {
  provider = await startOpenIdProvider({ redirectUri: `${PUBLIC_URL}/api/auth/callback`, groupsOf });
  gatehouse = await startWith(provider.issuer);
});
afterAll(async () => {
  await gatehouse.stop();
  provider.stop();
});

function startWith(issuer: string, env: Record<string, string> = {}): Promise<GatehouseInProcess> {
  return startGatehouseInProcess({
    env: {
      OIDC_ISSUER: issuer,
      OIDC_CLIENT_ID: CLIENT.id,
      OIDC_CLIENT_SECRET: CLIENT.secret,
      OIDC_ROLES: "platform=owner,oncall=operator,staff=viewer",
      ADMIN_PUBLIC_URL: PUBLIC_URL,
      ...env,
    },
  });
}

interface Started {
  readonly browser: CookieBrowser;
  readonly location: URL;
}

async function startSignIn(
  at = gatehouse,
  query = "",
  headers: Record<string, string> = {},
): Promise<Started> {
  const browser = new CookieBrowser();
  const response = await browser.request(`${at.adminUrl}/api/auth/sign-in${query}`, { headers });
  expect(response.status).toBe(303);
  return { browser, location: new URL(response.headers.get("location") ?? "") };
}

const callbackOf = (returned: URL, at = gatehouse) => `${at.adminUrl}${returned.pathname}${returned.search}`;

/** Signs a user in. The browser has the session afterwards. */
async function signIn(user: string, at = gatehouse, query = "") {
  const { browser, location } = await startSignIn(at, query);
  const returned = await signInAtProvider(location.href, user);
  const callback = callbackOf(returned, at);
  const flowCookie = browser.cookieHeader(at.adminUrl, "/api/auth/callback");
  const response = await browser.request(callback);
  const call = (
    method: string,
    path: string,
    body?: unknown,
    headers: Record<string, string> = SAME_ORIGIN,
  ) =>
    browser.request(`${at.adminUrl}/api/v1${path}`, {
      method,
      headers: { ...(body !== undefined && { "Content-Type": "application/json" }), ...headers },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
  return { browser, response, call, returned, callback, flowCookie, page: await response.text() };
}

const SAME_ORIGIN = { "Sec-Fetch-Site": "same-origin" };

describe("a user of the OpenID provider", () => {
  test.each([
    ["alice", "owner"],
    ["bob", "operator"],
    ["carol", "viewer"],
  ])("%s signs in and has the role of the highest group: %s", async (user, role) => {
    const { response, call } = await signIn(user);
    expect(response.status).toBe(200);
    const me = (await (await call("GET", "/iam/me")).json()) as Record<string, unknown>;
    expect(me).toMatchObject({
      actor: { type: "oidc", id: user, name: `${user}@example.com` },
      role,
      gateways: null,
    });
    const lifetime = Date.parse(String(me["expires_at"])) - gatehouse.clock.unixNow();
    expect(lifetime).toBeGreaterThan(28_790_000);
    expect(lifetime).toBeLessThanOrEqual(28_800_000);
    expect((await call("POST", "/gateways", { name: "g" })).status).toBe(role === "viewer" ? 403 : 201);
    expect((await call("GET", "/iam/admin-tokens")).status).toBe(role === "owner" ? 200 : 403);
  });

  test("without a matching group has no access: 403, and no session", async () => {
    const { response, page, browser, call } = await signIn("dave");
    expect(response.status).toBe(403);
    expect(page).toContain("sign_in_not_allowed");
    expect(browser.cookieHeader(gatehouse.adminUrl, "/")).toBe("");
    expect((await call("GET", "/gateways")).status).toBe(401);
  });

  test("is the actor of revisions and of the audit log, with sign-in and sign-out", async () => {
    const { call, browser } = await signIn("bob");
    expect((await call("POST", "/gateways", { name: "of bob" })).status).toBe(201);
    const actor = { type: "oidc", id: "bob", name: "bob@example.com" };
    const { body } = await gatehouse.api("GET", "/revisions?limit=1");
    expect(body.revisions[0]).toMatchObject({ subject: "bob@example.com", actor });
    const out = await browser.request(`${gatehouse.adminUrl}/api/auth/sign-out`, {
      method: "POST",
      headers: SAME_ORIGIN,
    });
    expect(out.status).toBe(204);
    const audit = await gatehouse.api("GET", "/audit?actor=bob@example.com&limit=3");
    expect(audit.body.audit_entries).toMatchObject([
      { action: "sign_out", actor, role: "operator" },
      { action: "create", actor, role: "operator" },
      { action: "sign_in", actor, role: "operator", details: { groups: ["oncall", "staff"] } },
    ]);
  });

  test("has groups in the ID token or in the user info, as the provider likes", async () => {
    const redirectUri = `${PUBLIC_URL}/api/auth/callback`;
    const other = await startOpenIdProvider({ redirectUri, groupsOf, groupsInToken: true });
    const node = await startWith(other.issuer);
    try {
      expect((await signIn("alice", node)).response.status).toBe(200);
    } finally {
      await node.stop();
      other.stop();
    }
  });
});

describe("cookies", () => {
  test("state, nonce and verifier are in a sealed, short-lived SameSite=Lax cookie of the callback", async () => {
    const { browser, location } = await startSignIn();
    expect(browser.lastCookies).toHaveLength(1);
    const cookie = browser.lastCookies[0] ?? "";
    expect(cookie).toMatch(
      /^__Secure-gatehouse_sign_in=v1\.[\w-]+; Path=\/api\/auth\/callback; Max-Age=600; HttpOnly; SameSite=Lax; Secure$/,
    );
    const sealed = /=v1\.([\w-]+);/.exec(cookie)?.[1] ?? "";
    for (const name of ["state", "nonce"]) {
      const value = location.searchParams.get(name) ?? "";
      expect(value).toMatch(/^[\w-]{43}$/);
      expect(Buffer.from(sealed, "base64url").toString("latin1")).not.toContain(value);
    }
    expect(location.searchParams.get("code_challenge_method")).toBe("S256");
    expect(location.searchParams.get("code_challenge")).toMatch(/^[\w-]{43}$/);
    expect(browser.cookieHeader(gatehouse.adminUrl, "/api/v1/gateways")).toBe("");
  });

  test("the callback returns a page of the same origin, with a __Host- session cookie: Secure, HttpOnly, SameSite=Strict", async () => {
    const { response, page, browser } = await signIn("alice", gatehouse, "?return_to=/console/gateways?x=1");
    expect(response.status).toBe(200);
    expect(response.headers.get("location")).toBeNull();
    expect(page).toContain('<meta http-equiv="refresh" content="0;url=/console/gateways?x=1">');
    expect(response.headers.get("content-security-policy")).toContain("default-src 'none'");
    expect(response.headers.get("cache-control")).toBe("no-store");
    expect(response.headers.get("referrer-policy")).toBe("no-referrer");
    const [session = "", flow = ""] = browser.lastCookies;
    expect(session).toMatch(
      /^__Host-gatehouse_session=[\w-]{43}; Path=\/; Max-Age=28800; HttpOnly; SameSite=Strict; Secure$/,
    );
    expect(flow).toStartWith("__Secure-gatehouse_sign_in=; Path=/api/auth/callback; Max-Age=0;");
  });

  test("on a loopback address without TLS they are not Secure, and have no prefix", async () => {
    const url = "http://127.0.0.1:8080";
    const other = await startOpenIdProvider({ redirectUri: `${url}/api/auth/callback`, groupsOf });
    const node = await startWith(other.issuer, { ADMIN_PUBLIC_URL: url });
    try {
      const { browser, response } = await signIn("alice", node);
      expect(response.status).toBe(200);
      expect(browser.lastCookies[0]).toMatch(
        /^gatehouse_session=[\w-]{43}; Path=\/; Max-Age=28800; HttpOnly; SameSite=Strict$/,
      );
    } finally {
      await node.stop();
      other.stop();
    }
  });

  test.each([
    "https://evil.example",
    "//evil.example",
    "/api/v1",
    "/consolex",
    "/console/../api",
    "/console/%2e%2e/v1/chat",
    "/console/.%2E/api",
    "/console\\evil",
  ])("the page after sign-in is never %s", async (returnTo) => {
    const { page } = await signIn("carol", gatehouse, `?return_to=${encodeURIComponent(returnTo)}`);
    expect(page).toContain('content="0;url=/console"');
  });

  test("only the hash of a session is stored", async () => {
    const { browser } = await signIn("carol");
    const value = browser.cookieHeader(gatehouse.adminUrl, "/").replace(`${SESSION}=`, "");
    expect(value).toMatch(/^[\w-]{43}$/);
    const files = new Bun.Glob("gatehouse.db*").scanSync(gatehouse.dataDir);
    for (const file of files)
      expect(await Bun.file(`${gatehouse.dataDir}/${file}`).text()).not.toContain(value);
    expect(gatehouse.output()).not.toContain(value);
  });
});

describe("a sign-in is refused", () => {
  const expectRefused = async (response: Response, code = "sign_in_failed") => {
    expect(await response.text()).toContain(code);
    expect(response.status).toBe(code === "sign_in_failed" ? 401 : 403);
    expect(response.headers.getSetCookie().some((cookie) => cookie.startsWith(SESSION))).toBe(false);
  };

  test("with another state", async () => {
    const { browser, location } = await startSignIn();
    const returned = await signInAtProvider(location.href, "alice");
    returned.searchParams.set("state", "A".repeat(43));
    await expectRefused(await browser.request(callbackOf(returned)));
  });

  test("without a state", async () => {
    const { browser, location } = await startSignIn();
    const returned = await signInAtProvider(location.href, "alice");
    returned.searchParams.delete("state");
    await expectRefused(await browser.request(callbackOf(returned)));
  });

  test("that was started in another browser", async () => {
    const { location } = await startSignIn();
    const returned = await signInAtProvider(location.href, "alice");
    await expectRefused(await new CookieBrowser().request(callbackOf(returned)));
    const victim = await startSignIn();
    await expectRefused(await victim.browser.request(callbackOf(returned)));
  });

  test("with a cookie that was changed, or is of another server", async () => {
    const { browser, location } = await startSignIn();
    const returned = await signInAtProvider(location.href, "alice");
    const cookie = browser.cookieHeader(gatehouse.adminUrl, "/api/auth/callback");
    // Not the last character: some of its bits are padding, so another character may represent the same bytes.
    const changed = cookie.slice(0, -2) + (cookie.at(-2) === "A" ? "B" : "A") + cookie.slice(-1);
    for (const header of [changed, `${cookie}; ${cookie}`, "__Secure-gatehouse_sign_in=v1.AAAA"])
      await expectRefused(await fetch(callbackOf(returned), { headers: { Cookie: header } }));
  });

  test("with a code that was replayed", async () => {
    const { response, callback, flowCookie, browser } = await signIn("alice");
    expect(response.status).toBe(200);
    await expectRefused(await browser.request(callback));
    await expectRefused(await fetch(callback, { headers: { Cookie: flowCookie } }));
  });

  test("with the code of another sign-in, whose verifier is another (PKCE)", async () => {
    const [attacker, victim] = [await startSignIn(), await startSignIn()];
    const stolen = await signInAtProvider(attacker.location.href, "alice");
    stolen.searchParams.set("state", victim.location.searchParams.get("state") ?? "");
    await expectRefused(await victim.browser.request(callbackOf(stolen)));
  });

  test("with a code that has expired", async () => {
    const redirectUri = `${PUBLIC_URL}/api/auth/callback`;
    const other = await startOpenIdProvider({ redirectUri, groupsOf, codeSeconds: 1 });
    const node = await startWith(other.issuer);
    try {
      const { browser, location } = await startSignIn(node);
      const returned = await signInAtProvider(location.href, "alice");
      const expiredAt = Date.now() + 2000;
      await waitUntil(() => Date.now() > expiredAt);
      await expectRefused(await browser.request(callbackOf(returned, node)));
    } finally {
      await node.stop();
      other.stop();
    }
  });

  test("ten minutes after it was started", async () => {
    const node = await startWith(provider.issuer);
    try {
      const { browser, location } = await startSignIn(node);
      const returned = await signInAtProvider(location.href, "alice");
      node.clock.advance(600_000);
      await expectRefused(await browser.request(callbackOf(returned, node)));
    } finally {
      await node.stop();
    }
  });

  test("with another issuer in the response (RFC 9207)", async () => {
    for (const issuer of ["https://evil.example", null]) {
      const { browser, location } = await startSignIn();
      const returned = await signInAtProvider(location.href, "alice");
      expect(returned.searchParams.get("iss")).toBe(provider.issuer);
      if (issuer === null) returned.searchParams.delete("iss");
      else returned.searchParams.set("iss", issuer);
      await expectRefused(await browser.request(callbackOf(returned)));
    }
  });

  test("that the user or the provider has aborted", async () => {
    const { browser, location } = await startSignIn();
    const state = location.searchParams.get("state") ?? "";
    const query = new URLSearchParams({ state, iss: provider.issuer, error: "access_denied<script>" });
    const response = await browser.request(`${gatehouse.adminUrl}/api/auth/callback?${query.toString()}`);
    expect(await response.clone().text()).toContain("access_deniedscript");
    await expectRefused(response);
  });

  test("and is counted in the audit log", async () => {
    const address = "198.51.100.77";
    await fetch(`${gatehouse.adminUrl}/api/auth/callback`, { headers: { "X-Forwarded-For": address } });
    gatehouse.clock.advance(60_000);
    const refused = async () => (await gatehouse.api("GET", `/audit?address=${address}`)).body.audit_entries;
    await waitUntil(async () => (await refused()).length === 1);
    expect((await refused())[0]).toMatchObject({
      action: "refused",
      details: { codes: { sign_in_failed: 1 } },
    });
  });
});

describe("requests of other sites", () => {
  test("the redirect URI is that of the settings, whatever the Host header says", async () => {
    const { location } = await startSignIn(gatehouse, "", {
      Host: "evil.example",
      "X-Forwarded-Host": "evil.example",
    });
    expect(location.searchParams.get("redirect_uri")).toBe(`${PUBLIC_URL}/api/auth/callback`);
    expect(location.origin).toBe(provider.issuer);
  });

  test.each([
    ["another site", { "Sec-Fetch-Site": "cross-site" }],
    ["another host of the same site", { "Sec-Fetch-Site": "same-site" }],
    ["another origin", { Origin: "https://evil.example" }],
    ["an opaque origin", { Origin: "null" }],
    ["the host of a rebound name", { Origin: "http://rebound.example", Host: "rebound.example" }],
    ["no statement of the origin", {}],
  ])("a write with the session cookie from %s is 403", async (_, headers: Record<string, string>) => {
    const { call, browser } = await signIn("alice");
    const response = await call("POST", "/gateways", { name: "forged" }, headers);
    expect(response.status).toBe(403);
    expect(await response.json()).toMatchObject({ code: "cross_site_request" });
    const out = await browser.request(`${gatehouse.adminUrl}/api/auth/sign-out`, { method: "POST", headers });
    expect(out.status).toBe(403);
    expect((await call("GET", "/iam/me")).status).toBe(200);
    expect((await gatehouse.api("GET", "/gateways?name=forged")).body.count).toBe(0);
  });

  test("reads for other sites are 403, and writes of the console's own origin are not", async () => {
    const { call } = await signIn("alice");
    for (const site of ["cross-site", "same-site"])
      expect((await call("GET", "/gateways", undefined, { "Sec-Fetch-Site": site })).status).toBe(403);
    const behindProxy = { Origin: PUBLIC_URL, Host: "upstream-of-a-proxy:8080" };
    for (const headers of [SAME_ORIGIN, { Origin: PUBLIC_URL, Host: "gatehouse.test" }, behindProxy])
      expect((await call("POST", "/gateways", { name: "own" }, headers)).status).toBe(201);
  });

  test("a sign-in cannot be started by another site", async () => {
    for (const site of ["cross-site", "same-site"]) {
      const headers = { "Sec-Fetch-Site": site };
      const response = await fetch(`${gatehouse.adminUrl}/api/auth/sign-in`, { headers, redirect: "manual" });
      expect(response.status).toBe(403);
    }
  });
});

describe("a session", () => {
  test("ends with the sign-out, on every node, although the cookie is sent again", async () => {
    const { browser, call } = await signIn("alice");
    const cookie = browser.cookieHeader(gatehouse.adminUrl, "/");
    const again = () => fetch(`${gatehouse.adminUrl}/api/v1/gateways`, { headers: { Cookie: cookie } });
    expect((await again()).status).toBe(200);
    const headers = SAME_ORIGIN;
    await browser.request(`${gatehouse.adminUrl}/api/auth/sign-out`, { method: "POST", headers });
    expect(browser.lastCookies[0]).toStartWith(`${SESSION}=; Path=/; Max-Age=0`);
    expect((await call("GET", "/gateways")).status).toBe(401);
    expect((await again()).status).toBe(401);
    const twice = await browser.request(`${gatehouse.adminUrl}/api/auth/sign-out`, {
      method: "POST",
      headers,
    });
    expect(twice.status).toBe(204);
  });

  test("ends after SESSION_SECONDS", async () => {
    const node = await startWith(provider.issuer, { SESSION_SECONDS: "600" });
    try {
      const { call } = await signIn("alice", node);
      node.clock.advance(599_000);
      expect((await call("GET", "/gateways")).status).toBe(200);
      node.clock.advance(1000);
      expect((await call("GET", "/gateways")).status).toBe(401);
    } finally {
      await node.stop();
    }
  });

  test("is not accepted in another form", async () => {
    const { browser } = await signIn("alice");
    const cookie = browser.cookieHeader(gatehouse.adminUrl, "/");
    const value = cookie.replace(`${SESSION}=`, "");
    for (const header of [
      `gatehouse_session=${value}`,
      `${SESSION}=${value}A`,
      `${SESSION}=${"A".repeat(43)}`,
      `${cookie}; ${cookie}`,
      `${SESSION}=`,
    ])
      expectError(await callWith({ Cookie: header }), 401, "unauthorized");
    expectError(await callWith({ Cookie: cookie, Authorization: "Bearer wrong" }), 401, "unauthorized");
    expectError(await callWith({ Authorization: `Bearer ${value}` }), 401, "unauthorized");
    const viewer = await create(gatehouse, "/iam/admin-tokens", { name: "v", role: "viewer" });
    const both = await callWith({ Cookie: cookie, Authorization: `Bearer ${viewer.token}` }, "/iam/me");
    expect(both.body.role).toBe("viewer");
  });

  async function callWith(headers: Record<string, string>, path = "/gateways") {
    const response = await fetch(`${gatehouse.adminUrl}/api/v1${path}`, { headers });
    return { status: response.status, headers: response.headers, body: JSON.parse(await response.text()) };
  }

  test("does not survive that users cannot sign in any more, and tokens keep working without it", async () => {
    const node = await startGatehouseInProcess();
    try {
      const { browser } = await signIn("alice");
      const Cookie = browser.cookieHeader(gatehouse.adminUrl, "/");
      expect((await fetch(`${node.adminUrl}/api/v1/gateways`, { headers: { Cookie } })).status).toBe(401);
      expect((await callApi(node.adminUrl, node.token, "GET", "/gateways")).status).toBe(200);
      for (const path of ["sign-in", "callback"])
        expect((await fetch(`${node.adminUrl}/api/auth/${path}`)).status).toBe(404);
    } finally {
      await node.stop();
    }
  });
});

test("GET /api/auth/config says without a token how to sign in, and contains no secret", async () => {
  const config = async (at: GatehouseInProcess) => (await fetch(`${at.adminUrl}/api/auth/config`)).text();
  const text = await config(gatehouse);
  expect(JSON.parse(text)).toEqual({
    oidc: { issuer: provider.issuer, sign_in_url: "/api/auth/sign-in" },
    has_session: false,
  });
  const { browser } = await signIn("carol");
  const withSession = await browser.request(`${gatehouse.adminUrl}/api/auth/config`);
  expect(await withSession.json()).toMatchObject({ has_session: true });
  expect(text).not.toContain(CLIENT.secret);
  const node = await startGatehouseInProcess();
  try {
    expect(JSON.parse(await config(node))).toEqual({ oidc: null, has_session: false });
  } finally {
    await node.stop();
  }
});
