// Authentication of the Admin API (specification, section 5), and the script that creates tokens.
import { afterAll, describe, expect, test } from "bun:test";
import { createHmac, generateKeyPairSync, sign } from "node:crypto";
import { chmodSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expectError, openConnection } from "../support/admin-fixtures.ts";
import { startGatehouseOnSystemClock } from "../support/gatehouse-in-process.ts";
import {
  mintToken,
  temporaryDirectory,
  TEST_SECRET,
  type ApiResponse,
} from "../support/gatehouse-process.ts";
import { useGatehouse } from "../support/use-gatehouse.ts";
import { waitFor } from "../support/waiting.ts";

const SCRIPT = join(import.meta.dir, "../../scripts/generate_jwt_token.sh");
const HOUR = 3600;
const now = () => Math.floor(Date.now() / 1000);
const gatehouse = await useGatehouse();

const encode = (value: unknown) =>
  Buffer.from(typeof value === "string" ? value : JSON.stringify(value)).toString("base64url");

/** Creates a token without a library, so that every part of it can be wrong. */
function makeToken(
  claims: unknown,
  header: unknown = { alg: "HS256", typ: "JWT" },
  secret = TEST_SECRET,
): string {
  const signed = `${encode(header)}.${encode(claims)}`;
  return `${signed}.${createHmac("sha256", secret).update(signed).digest("base64url")}`;
}

async function call(
  authorization: string | null,
  path = "/api/v1/gateways",
  method = "GET",
  process = gatehouse,
): Promise<ApiResponse> {
  const headers: Record<string, string> = authorization === null ? {} : { Authorization: authorization };
  const response = await fetch(`${process.adminUrl}${path}`, { method, headers });
  const text = await response.text();
  return { status: response.status, headers: response.headers, body: text === "" ? null : JSON.parse(text) };
}

function expectUnauthorized(response: ApiResponse): void {
  expectError(response, 401, "unauthorized");
  expect(response.headers.get("www-authenticate")).toBe("Bearer");
}

async function expectAccepted(token: string): Promise<void> {
  expect((await call(`Bearer ${token}`)).status).toBe(200);
}

describe("a missing or invalid token returns 401 with WWW-Authenticate: Bearer", () => {
  const valid = () => makeToken({ sub: "admin", exp: now() + HOUR });

  test("no Authorization header", async () => expectUnauthorized(await call(null)));

  test.each([
    ["an empty header", () => ""],
    ["a scheme alone", () => "Bearer"],
    ["another scheme", () => `Basic ${valid()}`],
    ["a token without a scheme", () => valid()],
    ["a word that is not a token", () => "Bearer secret"],
    ["the secret itself", () => `Bearer ${TEST_SECRET}`],
    ["two tokens", () => `Bearer ${valid()} ${valid()}`],
    ["two tokens with a comma", () => `Bearer ${valid()}, Bearer ${valid()}`],
    ["a quoted token", () => `Bearer "${valid()}"`],
    ["five parts", () => `Bearer ${valid()}.a.b`],
    ["two parts", () => `Bearer ${valid().split(".").slice(0, 2).join(".")}`],
    ["an API key", () => `Bearer gw_${"a".repeat(43)}`],
  ])("%s", async (_, authorization) => expectUnauthorized(await call(authorization())));

  test("a valid token is accepted", async () => expectAccepted(valid()));

  test("a token that is signed with another secret", async () => {
    const claims = { sub: "admin", exp: now() + HOUR };
    for (const secret of ["another", `${TEST_SECRET} `, TEST_SECRET.slice(1), TEST_SECRET.toUpperCase()]) {
      expectUnauthorized(await call(`Bearer ${makeToken(claims, { alg: "HS256", typ: "JWT" }, secret)}`));
    }
  });

  test("a wrong or empty signature", async () => {
    const [header, payload, signature = ""] = valid().split(".");
    const flipped = (signature.startsWith("A") ? "B" : "A") + signature.slice(1);
    for (const wrong of ["", "AAAA", flipped, signature.slice(0, -4), `${signature}AAAA`]) {
      expectUnauthorized(await call(`Bearer ${header}.${payload}.${wrong}`));
    }
  });

  test("a payload or header that was changed after signing", async () => {
    const [header, , signature] = makeToken({ sub: "admin", exp: now() - HOUR }).split(".");
    expectUnauthorized(
      await call(`Bearer ${header}.${encode({ sub: "admin", exp: now() + HOUR })}.${signature}`),
    );
    const [, payload, validSignature] = valid().split(".");
    expectUnauthorized(
      await call(`Bearer ${encode({ alg: "HS256", typ: "JWT", kid: "x" })}.${payload}.${validSignature}`),
    );
  });

  test.each(["none", "None", "NONE", ""])("alg %p, unsigned", async (alg) => {
    const claims = encode({ sub: "admin", exp: now() + HOUR });
    expectUnauthorized(await call(`Bearer ${encode({ alg, typ: "JWT" })}.${claims}.`));
    expectUnauthorized(await call(`Bearer ${encode({ alg, typ: "JWT" })}.${claims}`));
    expectUnauthorized(await call(`Bearer ${makeToken({ exp: now() + HOUR }, { alg, typ: "JWT" })}`));
  });

  test("RS256 with a real key, and with its public key as the HMAC secret", async () => {
    const { privateKey, publicKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
    const signed = `${encode({ alg: "RS256", typ: "JWT" })}.${encode({ sub: "admin", exp: now() + HOUR })}`;
    const signature = sign("sha256", Buffer.from(signed), privateKey).toString("base64url");
    expectUnauthorized(await call(`Bearer ${signed}.${signature}`));
    const pem = publicKey.export({ type: "spki", format: "pem" });
    expectUnauthorized(await call(`Bearer ${makeToken({ exp: now() + HOUR }, { alg: "HS256" }, pem)}`));
  });

  test("HS512 and HS384, though signed with the right secret", async () => {
    for (const bits of [384, 512]) {
      const signed = `${encode({ alg: `HS${bits}`, typ: "JWT" })}.${encode({ exp: now() + HOUR })}`;
      const signature = createHmac(`sha${bits}`, TEST_SECRET).update(signed).digest("base64url");
      expectUnauthorized(await call(`Bearer ${signed}.${signature}`));
    }
  });

  test("a header that is not JSON, has no algorithm, or requires extensions", async () => {
    const claims = { exp: now() + HOUR };
    for (const header of [
      "not json",
      "[]",
      "null",
      {},
      { alg: ["HS256"] },
      { alg: "HS256", crit: ["x"], x: 1 },
    ]) {
      expectUnauthorized(await call(`Bearer ${makeToken(claims, header)}`));
    }
  });

  test("claims that are not an object", async () => {
    for (const claims of ["not json", "[]", "null", "1", '"x"']) {
      expectUnauthorized(await call(`Bearer ${makeToken(claims)}`));
    }
  });

  test("a token over 8 kB", async () => {
    expectUnauthorized(await call(`Bearer ${makeToken({ exp: now() + HOUR, fill: "x".repeat(8000) })}`));
    await expectAccepted(makeToken({ exp: now() + HOUR, fill: "x".repeat(4000) }));
  });

  test("two Authorization headers, even if one of them is valid", async () => {
    const good = `Authorization: Bearer ${valid()}\r\n`;
    const bad = "Authorization: Bearer nonsense\r\n";
    for (const headers of [good + bad, bad + good, good + good]) {
      const connection = await openConnection(gatehouse.adminUrl);
      connection.send(`GET /api/v1/gateways HTTP/1.1\r\nHost: x\r\n${headers}Connection: close\r\n\r\n`);
      await connection.closed;
      expect(connection.received()).toMatch(/^HTTP\/1\.1 40[01] /);
      expect(connection.received()).not.toContain('"gateways"');
    }
    // The same request with one header succeeds, so the requests above fail because of the second one.
    const connection = await openConnection(gatehouse.adminUrl);
    connection.send(`GET /api/v1/gateways HTTP/1.1\r\nHost: x\r\n${good}Connection: close\r\n\r\n`);
    await connection.closed;
    expect(connection.received()).toMatch(/^HTTP\/1\.1 200 /);
  });

  test("the error is the same for every reason", async () => {
    const expired = await call(`Bearer ${makeToken({ exp: now() - HOUR })}`);
    const foreign = await call(`Bearer ${makeToken({ exp: now() + HOUR }, undefined, "another secret")}`);
    expect(expired.body.error).toBe(foreign.body.error);
  });
});

describe("exp and nbf are honored when present", () => {
  test.each([
    ["an exp in the past", () => ({ exp: now() - 10 })],
    ["an exp that is not a number", () => ({ exp: "tomorrow" })],
    ["an nbf in the future", () => ({ exp: now() + HOUR, nbf: now() + HOUR / 2 })],
    ["an nbf that is not a number", () => ({ nbf: "now" })],
  ])("%s is rejected", async (_, claims) => expectUnauthorized(await call(`Bearer ${makeToken(claims())}`)));

  test.each([
    ["a token without exp", () => ({ sub: "admin" })],
    ["a token without any claim", () => ({})],
    ["an nbf in the past", () => ({ nbf: now() - 10, exp: now() + HOUR })],
  ])("%s is accepted", async (_, claims) => expectAccepted(makeToken(claims())));
});

describe("the scheme is case-insensitive", () => {
  test.each(["bearer", "BEARER", "BeArEr"])("%s", async (scheme) => {
    expect((await call(`${scheme} ${gatehouse.token}`)).status).toBe(200);
  });
});

describe("all paths below /api/v1 require a token", () => {
  const id = "01890a5d-ac96-774b-bcce-b302099a8057";

  test.each([
    "",
    "/",
    "/gateways",
    `/gateways/${id}`,
    `/gateways/${id}/upstreams`,
    `/gateways/${id}/upstreams/${id}`,
    `/gateways/${id}/services`,
    `/gateways/${id}/services/${id}`,
    `/gateways/${id}/rules`,
    `/gateways/${id}/rules/${id}`,
    "/iam/api-keys",
    `/iam/api-keys/${id}`,
    `/iam/api-keys/${id}/rotate`,
    "/plugins",
    "/providers",
    "/unknown",
    "/unknown/path/below",
    "/gateways/../providers",
    "/%67ateways",
  ])("/api/v1%s with every method", async (path) => {
    for (const method of ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]) {
      const response = await call(null, `/api/v1${path}`, method);
      expect(response.status).toBe(401);
      if (method !== "HEAD") expectUnauthorized(response);
    }
  });

  test("other spellings of the same path do not bypass authentication", async () => {
    for (const path of [
      "//api/v1/gateways",
      "/api//v1/gateways",
      "/api/%76%31/gateways",
      "/api/v1;x/gateways",
    ]) {
      const response = await call(null, path);
      expect([401, 404]).toContain(response.status);
      expect(response.body).not.toHaveProperty("gateways");
    }
  });

  test("a write without a token changes nothing", async () => {
    const response = await fetch(`${gatehouse.adminUrl}/api/v1/gateways`, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ name: "sneaky" }),
    });
    expect(response.status).toBe(401);
    expect((await gatehouse.api("GET", "/gateways?name=sneaky")).body.count).toBe(0);
  });
});

describe("the OpenAPI document, the reference, and health require no token", () => {
  test.each([
    ["/api/openapi.json", "application/json"],
    ["/api/docs", "text/html"],
    ["/healthz", "application/json"],
    ["/readyz", "application/json"],
  ])("%s", async (path, type) => {
    const response = await fetch(`${gatehouse.adminUrl}${path}`);
    expect(response.status).toBe(200);
    expect(response.headers.get("content-type")).toStartWith(type);
    const text = await response.text();
    expect(text).not.toContain(TEST_SECRET);
    expect(text).not.toBeEmpty();
  });
});

describe("scripts/generate_jwt_token.sh", () => {
  const directories: string[] = [];
  const directory = () => {
    const path = temporaryDirectory();
    directories.push(path);
    return path;
  };
  afterAll(() => {
    for (const each of directories) rmSync(each, { recursive: true, force: true });
  });

  const run = (
    env: Record<string, string>,
    args: readonly string[] = [],
    cwd = directory(),
    shell?: string,
  ) =>
    Bun.spawnSync([...(shell === undefined ? [] : [shell]), SCRIPT, ...args], {
      cwd,
      env: { PATH: process.env["PATH"], ...env },
    });
  const claimsOf = (token: string) =>
    JSON.parse(Buffer.from(token.split(".")[1] ?? "", "base64url").toString());

  test("prints the token and nothing else", async () => {
    const { stdout, stderr, exitCode } = run({ SERVER_SECRET_KEY: TEST_SECRET });
    expect(exitCode).toBe(0);
    expect(stderr.toString()).toBe("");
    expect(stdout.toString()).toMatch(/^[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\n$/);
    await expectAccepted(stdout.toString().trim());
  });

  test("the token is HS256 and equals one that is created without the script", () => {
    const token = mintToken({ SERVER_SECRET_KEY: TEST_SECRET });
    const [header = "", payload = ""] = token.split(".");
    expect(JSON.parse(Buffer.from(header, "base64url").toString())).toEqual({ alg: "HS256", typ: "JWT" });
    expect(makeToken(Buffer.from(payload, "base64url").toString())).toBe(token);
  });

  test("the lifetime is 24 hours, or the first argument in seconds", () => {
    const day = claimsOf(mintToken({ SERVER_SECRET_KEY: TEST_SECRET }));
    expect(day.exp - day.iat).toBe(24 * HOUR);
    const minute = claimsOf(mintToken({ SERVER_SECRET_KEY: TEST_SECRET }, "60"));
    expect(minute.exp - minute.iat).toBe(60);
  });

  test("a token with a lifetime of 0 is expired", async () => {
    expectUnauthorized(await call(`Bearer ${mintToken({ SERVER_SECRET_KEY: TEST_SECRET }, "0")}`));
  });

  test.each(["soon", "-5", "1.5", "1h", "1e3", "99999999999999999999", "$(id)"])(
    "a lifetime of %s fails with a message on stderr",
    (lifetime) => {
      const { stdout, stderr, exitCode } = run({ SERVER_SECRET_KEY: TEST_SECRET }, [lifetime]);
      expect(exitCode).not.toBe(0);
      expect(stdout.toString()).toBe("");
      expect(stderr.toString()).toContain("lifetime");
      expect(stderr.toString().trim().split("\n")).toHaveLength(1);
    },
  );

  test("fails with a message on stderr if there is no secret", () => {
    for (const env of [{}, { SERVER_SECRET_KEY: "" }] as Record<string, string>[]) {
      const { stdout, stderr, exitCode } = run(env);
      expect(exitCode).not.toBe(0);
      expect(stdout.toString()).toBe("");
      expect(stderr.toString()).toContain("SERVER_SECRET_KEY");
      expect(stderr.toString().trim().split("\n")).toHaveLength(1);
    }
  });

  test("fails with a message if openssl is missing", () => {
    const tools = directory();
    for (const tool of ["sh", "sed", "tail", "tr", "cat", "date", "od"]) {
      const found = Bun.which(tool);
      if (found !== null) Bun.spawnSync(["ln", "-s", found, join(tools, tool)]);
    }
    const { stderr, exitCode } = run({ SERVER_SECRET_KEY: TEST_SECRET, PATH: tools });
    expect(exitCode).not.toBe(0);
    expect(stderr.toString()).toContain("openssl");
  });

  test("requires only a POSIX shell: it declares /bin/sh and runs in dash", async () => {
    expect(await Bun.file(SCRIPT).text()).toStartWith("#!/bin/sh\n");
    const dash = Bun.which("dash") ?? "/bin/sh";
    const { stdout, exitCode } = run({ SERVER_SECRET_KEY: TEST_SECRET }, [], directory(), dash);
    expect(exitCode).toBe(0);
    await expectAccepted(stdout.toString().trim());
  });

  test.each([
    ["plain", `SERVER_SECRET_KEY=${TEST_SECRET}`],
    ["double quotes", `SERVER_SECRET_KEY="${TEST_SECRET}"`],
    ["single quotes", `SERVER_SECRET_KEY='${TEST_SECRET}'`],
    ["export", `export SERVER_SECRET_KEY=${TEST_SECRET}`],
    [
      "other lines around it",
      `# SERVER_SECRET_KEY=old\nHOST=127.0.0.1\nSERVER_SECRET_KEY=${TEST_SECRET}\nX=1`,
    ],
    ["no newline, spaces at the end", `SERVER_SECRET_KEY=${TEST_SECRET}  `],
  ])("reads .env of the working directory: %s", async (_, line) => {
    const cwd = directory();
    writeFileSync(join(cwd, ".env"), line);
    const { stdout, exitCode } = run({}, [], cwd);
    expect(exitCode).toBe(0);
    await expectAccepted(stdout.toString().trim());
  });

  test("the environment takes precedence over .env", async () => {
    const cwd = directory();
    writeFileSync(join(cwd, ".env"), "SERVER_SECRET_KEY=another-secret\n");
    await expectAccepted(run({ SERVER_SECRET_KEY: TEST_SECRET }, [], cwd).stdout.toString().trim());
  });

  test("reads the generated file in data, in DATA_DIR, and in DATA_DIR of .env", async () => {
    const cwd = directory();
    const elsewhere = join(cwd, "else where");
    for (const folder of ["data", "else where"]) {
      mkdirSync(join(cwd, folder));
      writeFileSync(join(cwd, folder, "server_secret_key"), `${TEST_SECRET}\n`);
    }
    await expectAccepted(run({}, [], cwd).stdout.toString().trim());
    await expectAccepted(run({ DATA_DIR: elsewhere }, [], directory()).stdout.toString().trim());
    const withDotenv = directory();
    writeFileSync(join(withDotenv, ".env"), `DATA_DIR="${elsewhere}"\n`);
    await expectAccepted(run({}, [], withDotenv).stdout.toString().trim());
  });

  test("finds the secret that a server generated", async () => {
    const server = await startGatehouseOnSystemClock({ env: { SERVER_SECRET_KEY: "" } });
    try {
      const { stdout, exitCode } = run({ DATA_DIR: server.dataDir });
      expect(exitCode).toBe(0);
      const response = await call(`Bearer ${stdout.toString().trim()}`, undefined, undefined, server);
      expect(response.status).toBe(200);
      expectUnauthorized(await call(`Bearer ${gatehouse.token}`, undefined, undefined, server));
    } finally {
      await server.stop();
    }
  });

  const UNUSUAL_SECRETS = [
    ["single and double quotes", `it's a "quoted" secret of some length`],
    ["spaces inside", "a secret with   spaces of some length"],
    ["unicode", "ключ-ßécrèt-鍵-🔑-of-some-length"],
    ["a leading dash", "-n -e --help -macopt key:x, some length"],
    ["shell characters", "$(id) `id` $HOME ; rm * | & > < ! # \\ % \\n"],
    ["separators of openssl", "hexkey:00:key,digest:md5=of/some+length"],
    ["500 characters", "0123456789".repeat(50)],
    ["a short one", "short"],
  ] as const;

  test.each(UNUSUAL_SECRETS)("an unusual secret is used unchanged: %s", async (_, secret) => {
    const server = await startGatehouseOnSystemClock({ env: { SERVER_SECRET_KEY: secret } });
    try {
      expect((await server.api("GET", "/gateways")).status).toBe(200);
      const own = makeToken({ exp: now() + HOUR }, undefined, secret);
      expect((await call(`Bearer ${own}`, undefined, undefined, server)).status).toBe(200);
      expectUnauthorized(await call(`Bearer ${gatehouse.token}`, undefined, undefined, server));
    } finally {
      await server.stop();
    }
  });

  test("a server and the script read the same secret from a .env", async () => {
    for (const line of [
      `SERVER_SECRET_KEY=${TEST_SECRET}`,
      `SERVER_SECRET_KEY='with "quotes" and spaces, long enough'`,
    ]) {
      const dataDir = directory();
      writeFileSync(join(dataDir, ".env"), `${line}\n`);
      chmodSync(join(dataDir, ".env"), 0o600);
      const child = Bun.spawn([join(import.meta.dir, "../../bin/gatehouse"), "serve"], {
        cwd: dataDir,
        env: {
          PATH: process.env["PATH"],
          DATA_DIR: dataDir,
          ADMIN_PORT: "0",
          PROXY_PORT: "0",
          LOG_FORMAT: "json",
        },
        stdout: "pipe",
        stderr: "inherit",
      });
      try {
        let printed = "";
        void (async () => {
          for await (const chunk of child.stdout) printed += Buffer.from(chunk).toString();
        })();
        const url = await waitFor(
          () => /"url":"([^"]+)","msg":"admin API listening"/.exec(printed)?.[1] ?? null,
        );
        const token = run({}, [], dataDir).stdout.toString().trim();
        const response = await fetch(`${url}/api/v1/gateways`, {
          headers: { Authorization: `Bearer ${token}` },
        });
        expect(response.status).toBe(200);
      } finally {
        child.kill("SIGKILL");
        await child.exited;
      }
    }
  });
});
