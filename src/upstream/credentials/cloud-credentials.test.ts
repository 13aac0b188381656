// Tokens of Google and Microsoft from local servers, the keys of the environment's role, and which credentials share them.
import { afterAll, beforeEach, describe, expect, test } from "bun:test";
import { verify } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createServiceAccount } from "../../../test/support/service-account.ts";
import { useTokenServer } from "../../../test/support/token-server.ts";
import { waitUntil } from "../../../test/support/waiting.ts";
import { ManualClock } from "../../base/manual-clock.fixture.ts";
import { CoarseDeadlines } from "../../http/coarse-deadlines.ts";
import type { Credentials } from "../../model/credentials.ts";
import { CredentialError } from "../request-credential.ts";
import { UpstreamPool } from "../upstream-pool.ts";
import { CloudCredentials } from "./cloud-credentials.ts";

const tokens = useTokenServer();
const clock = new ManualClock();
const pool = new UpstreamPool(new CoarseDeadlines(clock));
afterAll(() => pool.close());
const fetches: [type: string, error: string | null][] = [];
beforeEach(() => void (fetches.length = 0));

const open = (environment: Record<string, string> | null = null) =>
  new CloudCredentials({
    pool,
    clock,
    environment,
    onFetch: (type, error) => fetches.push([type, error instanceof Error ? error.message : null]),
    addresses: { google: `${tokens.url}/google`, microsoft: `${tokens.url}/microsoft` },
  });

const REQUEST = { method: "POST", target: "/v1/chat", host: "example.com", headers: {}, body: null };

async function headersOf(cloud: CloudCredentials, credentials: Credentials) {
  const credential = cloud.of(credentials);
  if (credential === null) throw new Error("the credentials have a fixed header");
  return (await credential.authorizer(clock.now()))(REQUEST);
}

const failureOf = async (cloud: CloudCredentials, credentials: Credentials) => {
  const error: unknown = await headersOf(cloud, credentials).catch((reason: unknown) => reason);
  expect(error).toBeInstanceOf(CredentialError);
  return error instanceof Error ? error.message : "";
};

describe("gcp_service_account", () => {
  const account = createServiceAccount();
  const credentials: Credentials = {
    type: "gcp_service_account",
    service_account: account.text,
    scopes: ["https://www.googleapis.com/auth/cloud-platform", "second"],
  };

  test("a signed assertion is exchanged at Google's address, whatever token_uri of the file says", async () => {
    expect(await headersOf(open(), credentials)).toEqual({ authorization: "Bearer token-1" });
    const [request] = tokens.requests;
    expect(request?.path).toBe("/google");
    expect(request?.form["grant_type"]).toBe("urn:ietf:params:oauth:grant-type:jwt-bearer");
    const [header = "", claims = "", signature = ""] = request?.form["assertion"]?.split(".") ?? [];
    const json = (part: string): unknown => JSON.parse(Buffer.from(part, "base64url").toString());
    expect(json(header)).toEqual({ alg: "RS256", typ: "JWT", kid: "key-id-1" });
    const issuedAt = Math.floor(clock.unixNow() / 1000);
    expect(json(claims)).toEqual({
      iss: account.email,
      scope: "https://www.googleapis.com/auth/cloud-platform second",
      aud: `${tokens.url}/google`,
      iat: issuedAt,
      exp: issuedAt + 3600,
    });
    const signed = Buffer.from(`${header}.${claims}`);
    const bytes = Buffer.from(signature, "base64url");
    expect(verify("RSA-SHA256", signed, account.publicKey, bytes)).toBe(true);
    expect(fetches).toEqual([["gcp_service_account", null]]);
  });

  test("an error of a broken key names nothing of it", async () => {
    const broken = createServiceAccount({ private_key: "-----BEGIN PRIVATE KEY-----\nplanted" }).text;
    const message = await failureOf(open(), { ...credentials, service_account: broken });
    expect(message).toBe("the private key of the service account cannot sign");
    expect(tokens.requests).toEqual([]);
  });
});

test("azure_client: the token is fetched from the tenant with the client's secret", async () => {
  const credentials: Credentials = {
    type: "azure_client",
    tenant_id: "contoso.example",
    client_id: "app",
    client_secret: "a secret & more",
    scope: "https://cognitiveservices.azure.com/.default",
  };
  expect(await headersOf(open(), credentials)).toEqual({ authorization: "Bearer token-1" });
  expect(tokens.requests).toEqual([
    {
      path: "/microsoft/contoso.example/oauth2/v2.0/token",
      form: {
        grant_type: "client_credentials",
        client_id: "app",
        client_secret: "a secret & more",
        scope: "https://cognitiveservices.azure.com/.default",
      },
      authorization: null,
    },
  ]);
});

test("equal credentials are one object, others and those with a header are not", () => {
  const cloud = open();
  const oauth: Credentials = {
    type: "oauth_client_credentials",
    token_url: tokens.url,
    client_id: "a",
    client_secret: "s",
    scope: null,
  };
  expect(cloud.of(oauth)).toBe(cloud.of({ ...oauth }));
  expect(cloud.of(oauth)).not.toBe(cloud.of({ ...oauth, client_secret: "t" }));
  expect(cloud.of({ header_name: "a", header_value: "b" })).toBeNull();
});

test("a token server whose name resolves to a forbidden address is not connected to", async () => {
  const credentials: Credentials = {
    type: "oauth_client_credentials",
    // The schema rejects such an address; a name may resolve to one only later.
    token_url: "http://169.254.169.254/token",
    client_id: "a",
    client_secret: "s",
    scope: null,
  };
  expect(await failureOf(open(), credentials)).toBe("the token server has a link-local or metadata address");
});

test("close aborts a fetch in progress", async () => {
  const never = Promise.withResolvers<Response>();
  tokens.respond(() => never.promise);
  const cloud = open();
  const failure = failureOf(cloud, {
    type: "oauth_client_credentials",
    token_url: tokens.url,
    client_id: "closed",
    client_secret: "s",
    scope: null,
  });
  await waitUntil(() => tokens.requests.length === 1);
  await cloud.close();
  expect(await failure).toBe("the token server was not needed any more");
  never.resolve(new Response());
});

describe("the role of the environment", () => {
  const role: Credentials = {
    type: "aws_sigv4",
    region: "us-east-1",
    service: "bedrock",
    access_key_id: null,
    secret_access_key: null,
    session_token: null,
  };
  const keys = (token: string) => ({
    AccessKeyId: "ASIATEMPORARY",
    SecretAccessKey: "temporary",
    Token: token,
    Expiration: new Date(clock.unixNow() + 3_600_000).toISOString(),
  });
  const directory = mkdtempSync(join(tmpdir(), "gatehouse-keys-"));
  afterAll(() => rmSync(directory, { recursive: true, force: true }));
  const tokenFile = join(directory, "token");
  writeFileSync(tokenFile, "identity-token\n");

  test("is a problem unless it is allowed", () => {
    expect(open(null).problemOf(role)).toContain("ALLOW_ENVIRONMENT_CREDENTIALS=true");
    expect(open({}).problemOf(role)).toBeNull();
    expect(open(null).problemOf({ ...role, access_key_id: "a", secret_access_key: "b" })).toBeNull();
  });

  test("variables, with their session token", async () => {
    const cloud = open({
      AWS_ACCESS_KEY_ID: "AKIAVARIABLE",
      AWS_SECRET_ACCESS_KEY: "secret",
      AWS_SESSION_TOKEN: "session",
    });
    const headers = await headersOf(cloud, role);
    expect(headers["authorization"]).toContain("Credential=AKIAVARIABLE/");
    expect(headers["x-amz-security-token"]).toBe("session");
  });

  test("the container's credentials endpoint, with its token, shared by all regions", async () => {
    const authorizations: (string | null)[] = [];
    tokens.respond(({ authorization, path }) => {
      authorizations.push(authorization);
      return path === "/v2/keys" ? Response.json(keys("container")) : new Response(null, { status: 404 });
    });
    const cloud = open({
      AWS_CONTAINER_CREDENTIALS_FULL_URI: `${tokens.url}/v2/keys`,
      AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE: tokenFile,
    });
    const headers = await headersOf(cloud, role);
    expect(headers["authorization"]).toContain("Credential=ASIATEMPORARY/");
    expect(headers["x-amz-security-token"]).toBe("container");
    await headersOf(cloud, { ...role, region: "eu-west-1" });
    expect(authorizations).toEqual(["identity-token"]);
    // They are replaced before they expire.
    clock.advance(56 * 60_000);
    await headersOf(cloud, role);
    await waitUntil(() => authorizations.length === 2);
  });

  test("plain HTTP to another host is not used", async () => {
    const cloud = open({ AWS_CONTAINER_CREDENTIALS_FULL_URI: "http://example.com/keys" });
    expect(await failureOf(cloud, role)).toContain("neither HTTPS nor a container address");
  });

  test("the metadata service of the instance, in version 2", async () => {
    const paths: string[] = [];
    tokens.respond(({ path }) => {
      paths.push(path);
      if (path === "/latest/api/token") return new Response("metadata-token");
      return path.endsWith("/") ? new Response("my-role\n") : Response.json(keys("instance"));
    });
    const headers = await headersOf(open({ AWS_EC2_METADATA_SERVICE_ENDPOINT: tokens.url }), role);
    expect(headers["x-amz-security-token"]).toBe("instance");
    expect(paths).toEqual([
      "/latest/api/token",
      "/latest/meta-data/iam/security-credentials/",
      "/latest/meta-data/iam/security-credentials/my-role",
    ]);
  });

  test("a web identity, exchanged at AWS STS", async () => {
    const { AccessKeyId, SecretAccessKey, Expiration } = keys("");
    tokens.respond(
      () =>
        new Response(
          `<AssumeRoleWithWebIdentityResponse><Credentials><AccessKeyId>${AccessKeyId}</AccessKeyId>` +
            `<SecretAccessKey>${SecretAccessKey}</SecretAccessKey><SessionToken>identity</SessionToken>` +
            `<Expiration>${Expiration}</Expiration></Credentials></AssumeRoleWithWebIdentityResponse>`,
        ),
    );
    const cloud = open({
      AWS_WEB_IDENTITY_TOKEN_FILE: tokenFile,
      AWS_ROLE_ARN: "arn:aws:iam::123456789012:role/gateway",
      AWS_ENDPOINT_URL_STS: tokens.url,
    });
    expect((await headersOf(cloud, role))["x-amz-security-token"]).toBe("identity");
    expect(tokens.requests[0]?.form).toEqual({
      Action: "AssumeRoleWithWebIdentity",
      Version: "2011-06-15",
      RoleArn: "arn:aws:iam::123456789012:role/gateway",
      RoleSessionName: "gatehouse",
      WebIdentityToken: "identity-token",
    });
  });

  test.each([
    ["nothing", { AWS_EC2_METADATA_DISABLED: "true" }, "no AWS credentials"],
    [
      "an endpoint that is not reachable",
      { AWS_CONTAINER_CREDENTIALS_FULL_URI: "http://127.0.0.1:1/" },
      "could not be reached",
    ],
    [
      "a missing token file",
      { AWS_WEB_IDENTITY_TOKEN_FILE: "/missing", AWS_ROLE_ARN: "a" },
      "cannot be read",
    ],
  ])("with %s it fails", async (_, environment, message) => {
    expect(await failureOf(open(environment), role)).toContain(message);
    expect(fetches).toEqual([["aws_sigv4", expect.stringContaining(message)]]);
  });
});
