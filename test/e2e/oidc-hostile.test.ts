// Sign-in with a hostile or broken OpenID provider: no token that is not exactly right starts a session.
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { exportJWK, exportSPKI, generateKeyPair, SignJWT } from "jose";
import { CookieBrowser } from "../support/cookie-browser.ts";
import { startGatehouseInProcess, type GatehouseInProcess } from "../support/gatehouse-in-process.ts";
import {
  HOSTILE_CLIENT,
  HOSTILE_SECRET,
  HostileProvider,
  type HostileBehavior,
} from "../support/hostile-openid-provider.ts";
import { waitUntil } from "../support/waiting.ts";

const provider = new HostileProvider();
let gatehouse: GatehouseInProcess;
const start = (env: Record<string, string> = {}) =>
  startGatehouseInProcess({
    env: {
      OIDC_ISSUER: provider.issuer,
      OIDC_CLIENT_ID: HOSTILE_CLIENT,
      OIDC_CLIENT_SECRET: HOSTILE_SECRET,
      OIDC_ROLES: "staff=viewer,cn%3Dadmins%2Cou%3Dpeople=owner",
      ADMIN_PUBLIC_URL: "https://gatehouse.test",
      ...env,
    },
  });
beforeAll(async () => {
  await provider.rotateKey();
  gatehouse = await start();
});
afterAll(async () => {
  await gatehouse.stop();
  await provider.stop();
});
beforeEach(() => {
  provider.behavior = {};
});

/** Returns the response to the callback, and whether a session has begun. */
async function signIn(behavior: HostileBehavior = {}, at = gatehouse) {
  const browser = new CookieBrowser();
  const started = await browser.request(`${at.adminUrl}/api/auth/sign-in`);
  if (started.status !== 303)
    return { status: started.status, text: await started.text(), hasSession: false, browser };
  const { searchParams } = new URL(started.headers.get("location") ?? "");
  provider.nonce = searchParams.get("nonce") ?? "";
  provider.behavior = { ...provider.behavior, ...behavior };
  const query = new URLSearchParams({ code: "a code", state: searchParams.get("state") ?? "" });
  const response = await browser.request(`${at.adminUrl}/api/auth/callback?${query.toString()}`);
  const hasSession = browser.lastCookies.some((cookie) => cookie.includes("gatehouse_session"));
  return { status: response.status, text: await response.text(), hasSession, browser };
}

async function expectRefused(behavior: HostileBehavior, status = 401, at = gatehouse): Promise<void> {
  const result = await signIn(behavior, at);
  expect({ status: result.status, hasSession: result.hasSession }).toEqual({ status, hasSession: false });
}

const now = () => Math.floor(Date.now() / 1000);

test("a token that is right in everything starts a session", async () => {
  expect(await signIn()).toMatchObject({ status: 200, hasSession: true });
});

describe("an ID token is refused", () => {
  test.each<[string, () => Record<string, unknown>]>([
    ["another audience", () => ({ aud: "another client" })],
    ["no audience", () => ({ aud: undefined })],
    ["another issuer", () => ({ iss: "https://evil.example" })],
    ["an issuer that differs in a slash", () => ({ iss: `${provider.issuer}/` })],
    ["no issuer", () => ({ iss: undefined })],
    ["another nonce", () => ({ nonce: "A".repeat(43) })],
    ["no nonce", () => ({ nonce: undefined })],
    ["an empty nonce", () => ({ nonce: "" })],
    ["a nonce that is no text", () => ({ nonce: [provider.nonce] })],
    ["an expiry in the past", () => ({ iat: now() - 600, exp: now() - 60 })],
    ["no expiry", () => ({ exp: undefined })],
    ["a start in the future", () => ({ nbf: now() + 120 })],
    ["no time of issue", () => ({ iat: undefined })],
    ["no subject", () => ({ sub: undefined })],
    ["an empty subject", () => ({ sub: "" })],
    ["several audiences and no authorized party", () => ({ aud: [HOSTILE_CLIENT, "another client"] })],
    ["another authorized party", () => ({ azp: "another client" })],
  ])("with %s", async (_, claims) => {
    const makeToken: HostileBehavior["makeToken"] = (right) => {
      const changed = Object.entries({ ...right, ...claims() }).filter(([, value]) => value !== undefined);
      return provider.sign(Object.fromEntries(changed));
    };
    await expectRefused({ makeToken });
  });

  test("that is signed with another key, under the name of the right one or an unknown one", async () => {
    const { privateKey } = await generateKeyPair("RS256");
    for (const kid of [provider.kid, "unknown", ""])
      await expectRefused({ makeToken: (claims) => provider.sign(claims, privateKey, kid) });
  });

  test("with the algorithm none", async () => {
    const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString("base64url");
    for (const alg of ["none", "None", ""])
      for (const signature of ["", "AAAA"])
        await expectRefused({
          makeToken: (claims) => `${encode({ alg, kid: provider.kid })}.${encode(claims)}.${signature}`,
        });
  });

  test("with HS256 and the public key or the client secret as the key", async () => {
    const jwk = await exportJWK(provider.publicKey);
    const keys = [await exportSPKI(provider.publicKey), JSON.stringify(jwk), jwk.n ?? "", HOSTILE_SECRET];
    for (const key of keys)
      await expectRefused({
        makeToken: (claims) =>
          new SignJWT(claims)
            .setProtectedHeader({ alg: "HS256", kid: provider.kid })
            .sign(new TextEncoder().encode(key.padEnd(32, "="))),
      });
  });

  test("with a key in its own header", async () => {
    const { privateKey, publicKey } = await generateKeyPair("RS256", { extractable: true });
    const jwk = await exportJWK(publicKey);
    await expectRefused({
      makeToken: (claims) => new SignJWT(claims).setProtectedHeader({ alg: "RS256", jwk }).sign(privateKey),
    });
  });

  test.each(["", "a.b", "a.b.c", "not a token", `${"A".repeat(100_000)}.B.C`])(
    "that is no token",
    async (token) => {
      await expectRefused({ makeToken: () => token });
    },
  );
});

describe("groups", () => {
  test.each([[{ groups: [] }], [{ groups: "other" }], [{ groups: ["Staff"] }], [{ groups: [["staff"]] }]])(
    "%j are no access",
    async (claims) => expectRefused({ claims: { ...claims, email: "m@example.com" } }, 403),
  );

  test.each([[{}], [{ groups: null }], [{ groups: { staff: true } }]])(
    "%j of the ID token and of the user info are no access",
    async (claims) => {
      await expectRefused(
        { claims: { groups: undefined, ...claims }, userinfo: { sub: "mallory", ...claims } },
        403,
      );
    },
  );

  test("a group may contain commas and equals signs, and be a single text", async () => {
    const { browser, status } = await signIn({ claims: { groups: "cn=admins,ou=people" } });
    expect(status).toBe(200);
    const me = await browser.request(`${gatehouse.adminUrl}/api/v1/iam/me`);
    expect(await me.json()).toMatchObject({ role: "owner" });
  });

  test("OIDC_GROUPS_CLAIM names another claim, or a member of one", async () => {
    for (const [name, claims] of [
      ["https://example.com/roles", { "https://example.com/roles": ["staff"] }],
      ["realm_access.roles", { realm_access: { roles: ["staff"] } }],
    ] as const) {
      const node = await start({ OIDC_GROUPS_CLAIM: name });
      try {
        expect((await signIn({ claims: { groups: undefined, ...claims, name: "n" } }, node)).status).toBe(
          200,
        );
        await expectRefused({ claims: { groups: ["staff"] }, userinfo: { sub: "mallory" } }, 403, node);
      } finally {
        await node.stop();
      }
    }
  });

  test("the user info of another user is refused", async () => {
    await expectRefused({ claims: { groups: undefined }, userinfo: { sub: "alice", groups: ["staff"] } });
  });
});

describe("the provider", () => {
  test("may replace its key between two sign-ins", async () => {
    expect((await signIn()).status).toBe(200);
    await provider.rotateKey();
    expect((await signIn()).status).toBe(200);
    const keepsId = true;
    await provider.rotateKey(keepsId);
    expect((await signIn()).status).toBe(200);
  });

  test("gets the client secret in the Authorization header, or in the form if it supports only that", async () => {
    await signIn();
    const { body, authorization } = provider.tokenRequest;
    const expected = `${HOSTILE_CLIENT}:${HOSTILE_SECRET.replaceAll(" ", "+")}`;
    expect(Buffer.from(authorization.replace("Basic ", ""), "base64").toString()).toBe(expected);
    expect(body.get("client_secret")).toBeNull();
    expect(body.get("code_verifier")).toMatch(/^[\w-]{43}$/);
    expect(body.get("redirect_uri")).toBe("https://gatehouse.test/api/auth/callback");
    provider.behavior = { metadata: { token_endpoint_auth_methods_supported: ["client_secret_post"] } };
    const node = await start();
    try {
      expect((await signIn({}, node)).status).toBe(200);
      expect(provider.tokenRequest.authorization).toBe("");
      expect(provider.tokenRequest.body.get("client_secret")).toBe(HOSTILE_SECRET);
    } finally {
      await node.stop();
    }
  });

  test.each<[string, HostileBehavior, number]>([
    [
      "an error of the token endpoint",
      { token: () => Response.json({ error: "invalid_grant" }, { status: 400 }) },
      401,
    ],
    ["no ID token", { token: () => Response.json({ access_token: "a" }) }, 401],
    ["an internal error", { token: () => Response.json({ error: "x" }, { status: 500 }) }, 502],
    ["a body that is not JSON", { token: () => new Response("<html>") }, 502],
    ["a redirect", { token: () => Response.redirect("http://127.0.0.1:1/elsewhere", 307) }, 502],
    ["a body without end", { token: () => new Response("x".repeat(2_000_000)) }, 502],
    ["keys that are not JSON", { keys: () => new Response("<html>") }, 502],
    ["keys with an error", { keys: () => Response.json({}, { status: 500 }) }, 502],
  ])("that responds with %s starts no session", async (_, behavior, status) => {
    const node = await start();
    try {
      await expectRefused(behavior, status, node);
    } finally {
      await node.stop();
    }
  });

  test.each<[string, Record<string, unknown>]>([
    ["of another issuer", { issuer: "https://evil.example" }],
    ["without an authorization endpoint", { authorization_endpoint: undefined }],
    ["with a token endpoint that is no address", { token_endpoint: 7 }],
    ["with keys at an address without TLS and of another kind", { jwks_uri: "ftp://127.0.0.1/keys" }],
  ])("with metadata %s cannot be used", async (_, metadata) => {
    provider.behavior = { metadata };
    const node = await start();
    try {
      const { status, text } = await signIn({}, node);
      expect(status).toBe(502);
      expect(text).toContain("sign_in_unavailable");
    } finally {
      await node.stop();
    }
  });

  test.each<[string, (silence: Promise<Response>) => HostileBehavior]>([
    ["token endpoint", (silence) => ({ token: () => silence })],
    ["keys", (silence) => ({ keys: () => silence })],
  ])("whose %s does not respond for ten seconds starts no session", async (_, behaviorOf) => {
    const node = await start();
    const silence = Promise.withResolvers<Response>();
    let isAsked = false;
    const asked = (behavior: HostileBehavior): HostileBehavior => ({
      ...(behavior.token !== undefined && { token: () => ((isAsked = true), behavior.token!()) }),
      ...(behavior.keys !== undefined && { keys: () => ((isAsked = true), behavior.keys!()) }),
    });
    try {
      const finished = signIn(asked(behaviorOf(silence.promise)), node);
      await waitUntil(() => isAsked);
      node.clock.advance(10_000);
      const { status, hasSession } = await finished;
      expect({ status, hasSession }).toEqual({ status: 502, hasSession: false });
    } finally {
      silence.resolve(new Response(null, { status: 500 }));
      await node.stop();
    }
  });

  test("that cannot be reached is a 502, and the next sign-in tries again", async () => {
    const node = await start({ OIDC_ISSUER: "http://127.0.0.1:1" });
    try {
      const response = await fetch(`${node.adminUrl}/api/auth/sign-in`, { redirect: "manual" });
      expect(response.status).toBe(502);
      expect(await response.text()).toContain("sign_in_unavailable");
    } finally {
      await node.stop();
    }
  });
});

test("no page and no log line contains a token, a code verifier or the client secret", async () => {
  const { text } = await signIn({ claims: { nonce: "wrong" } });
  const { verifier, secrets } = {
    verifier: provider.tokenRequest.body.get("code_verifier") ?? "",
    secrets: [HOSTILE_SECRET, "an access token", "a%20code"],
  };
  for (const secret of [...secrets, verifier]) {
    expect(text).not.toContain(secret);
    expect(gatehouse.output()).not.toContain(secret);
  }
  expect(gatehouse.output()).not.toMatch(/eyJ[\w-]{10,}\./);
});
