// Cloud credentials in the Admin API, documents, revisions and explanations: secrets are masked and kept, and a stored secret is
// never sent to another token server.
import { afterAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { create, expectError } from "../support/admin-fixtures.ts";
import { startGatehouseProcess, temporaryDirectory, type ApiResponse } from "../support/gatehouse-process.ts";
import { CHAT, onlyRequest, rawJson, seedRoute, targetAt } from "../support/proxy-fixtures.ts";
import { runCommand, settingsOf } from "../support/run-command.ts";
import { createServiceAccount } from "../support/service-account.ts";
import { checkSignature } from "../support/sigv4-check.ts";
import { useFakeProvider, useGatehouseProcess } from "../support/use-gatehouse.ts";
import { waitFor } from "../support/waiting.ts";

setDefaultTimeout(60_000);
const gatehouse = await useGatehouseProcess();
const provider = await useFakeProvider();
const directory = temporaryDirectory();
afterAll(() => rmSync(directory, { recursive: true, force: true }));

type Body = ApiResponse["body"];

const account = createServiceAccount();
const SECRETS = {
  secret_access_key: "wJalrXUtnFEMI-planted-AWS-KEY",
  session_token: "planted-session-token-0123456789",
  service_account: account.text,
  client_secret: "planted-client-secret-0123456789",
};
const aws = {
  type: "aws_sigv4",
  region: "us-east-1",
  service: "bedrock",
  access_key_id: "AKIDEXAMPLE",
  secret_access_key: SECRETS.secret_access_key,
  session_token: SECRETS.session_token,
};
const gcp = {
  type: "gcp_service_account",
  service_account: SECRETS.service_account,
  scopes: ["https://www.googleapis.com/auth/cloud-platform"],
};
const azure = {
  type: "azure_client",
  tenant_id: "11111111-2222-3333-4444-555555555555",
  client_id: "app",
  client_secret: SECRETS.client_secret,
  scope: "https://cognitiveservices.azure.com/.default",
};
const oauth = {
  type: "oauth_client_credentials",
  token_url: "https://login.example.com/token",
  client_id: "app",
  client_secret: SECRETS.client_secret,
  scope: null,
};
const ALL = [aws, gcp, azure, oauth] as const;
const mask = (text: string) => `${text.slice(0, 3)}***${text.slice(-4)}`;

/** Returns the credentials as responses show them. */
function masked(credentials: Record<string, unknown>): Record<string, unknown> {
  const entries = Object.entries(credentials).map(([name, value]) => [
    name,
    name in SECRETS ? mask(String(value)) : value,
  ]);
  return Object.fromEntries(entries) as Record<string, unknown>;
}

const targetWith = (credentials: unknown, fields: Record<string, unknown> = {}) =>
  targetAt(provider, { provider: "vllm", credentials, ...fields });
let serial = 0;

async function seed(credentials: unknown): Promise<{ gateway: string; path: string; shown: Body }> {
  const { id: gateway } = await create(gatehouse, "/gateways", { name: `cloud ${++serial}` });
  const at = `/gateways/${gateway}/upstreams`;
  const shown = await create(gatehouse, at, { name: "models", targets: [targetWith(credentials)] });
  return { gateway, path: `${at}/${shown.id}`, shown };
}

function expectNoSecret(body: unknown): void {
  const text = JSON.stringify(body);
  for (const secret of [SECRETS.secret_access_key, SECRETS.session_token, SECRETS.client_secret])
    expect(text).not.toContain(secret);
  expect(text).not.toContain("PRIVATE KEY");
}

const post = async (credentials: unknown) =>
  gatehouse.api("POST", `/gateways/${(await seed(null)).gateway}/upstreams`, {
    name: "x",
    targets: [targetWith(credentials)],
  });

describe.each(ALL)("$type", (credentials) => {
  test("its secrets are masked in every response, and a mask keeps them", async () => {
    const { gateway, path, shown } = await seed(credentials);
    expect(shown.targets[0].credentials).toEqual(masked(credentials));
    const changed = { ...shown, targets: [{ ...shown.targets[0], weight: 7 }] };
    const updated = await gatehouse.api("PUT", path, changed);
    expect(updated.status).toBe(200);
    expect(updated.body.targets[0].credentials).toEqual(masked(credentials));
    const { revision } = (await gatehouse.api("GET", "/revisions?limit=1")).body.revisions[0];
    const details = await gatehouse.api("GET", `/revisions/${revision}`);
    // The secrets did not change: only the weight is listed.
    expect(details.body.diff.map((change: { path: string }) => change.path)).toEqual(["targets[0].weight"]);
    for (const each of ["/revisions", `/gateways/${gateway}`, path])
      expectNoSecret((await gatehouse.api("GET", each)).body);
    expectNoSecret([updated.body, details.body, gatehouse.output()]);
  });

  test("a masked secret is not sent to another provider, base URL or type", async () => {
    const { path, shown } = await seed(credentials);
    const [target] = shown.targets;
    const other = credentials.type === "azure_client" ? oauth : { ...azure, scope: undefined };
    const moved = [
      { ...target, base_url: "https://evil.example.com" },
      { ...target, provider: "openai" },
      { ...target, headers: { Host: "evil.example.com" } },
      { ...target, credentials: { ...other, client_secret: mask(SECRETS.client_secret) } },
    ];
    for (const each of moved) {
      const response = await gatehouse.api("PATCH", path, { targets: [each] });
      expect([each, response.status]).toEqual([each, 400]);
      expect(["credential_required", "validation_failed"]).toContain(response.body.code);
      expectNoSecret(response.body);
    }
    expect((await gatehouse.api("GET", path)).body.targets).toEqual(shown.targets);
  });

  test("a document exports it with variables, and applies it again without them", async () => {
    const { path } = await seed(credentials);
    const file = join(directory, `${credentials.type}.yaml`);
    const run = (args: readonly string[], env: Record<string, string> = {}) =>
      runCommand(args, { ...settingsOf(gatehouse), ...env });
    const headers = { Authorization: `Bearer ${gatehouse.token}` };
    const text = await (await fetch(`${gatehouse.adminUrl}/api/v1/export`, { headers })).text();
    await Bun.write(file, text);
    expectNoSecret(text);
    for (const member of Object.keys(credentials).filter((each) => each in SECRETS))
      expect(text).toContain(`_${member.toUpperCase()}:-`);
    expect(text).not.toContain("scope");
    const before = (await gatehouse.api("GET", path)).body;
    expect((await run(["apply", file])).code).toBe(0);
    expect((await gatehouse.api("GET", path)).body).toEqual(before);
    expect((await run(["check", file])).code).toBe(0);
    // With variables, the document sets other secrets.
    const variables = text.matchAll(
      new RegExp(`\\{(CLOUD_${serial}_\\w+?_(${Object.keys(SECRETS).join("|").toUpperCase()})):-`, "g"),
    );
    const others: Record<string, string> = {};
    for (const [, variable = "", member = ""] of variables)
      others[variable] =
        member === "SERVICE_ACCOUNT" ? createServiceAccount().text.trimEnd() : `other-${member}-9999`;
    expect(Object.keys(others)).not.toBeEmpty();
    const { code, stdout } = await run(["apply", file], others);
    expect(code).toBe(0);
    expect(stdout).toContain("~ upstream");
    const changed = (await gatehouse.api("GET", path)).body.targets[0].credentials;
    for (const [variable, value] of Object.entries(others)) {
      const member = Object.keys(SECRETS).find((each) => variable.endsWith(`_${each.toUpperCase()}`));
      expect(changed[member ?? ""]).toBe(mask(value));
    }
    expectNoSecret([stdout, (await run(["diff", "1"])).stdout]);
  });
});

test.each([
  ["tenant_id", azure, { tenant_id: "another-tenant.example" }],
  ["token_url", oauth, { token_url: "https://evil.example.com/token" }],
])(
  "changing %s needs the secret again: with PUT, in apply, and in a rollback",
  async (field, credentials, change) => {
    const { gateway, path, shown } = await seed({ ...credentials, ...change });
    const { revision } = (await gatehouse.api("GET", "/revisions?limit=1")).body.revisions[0];
    const [target] = shown.targets;
    const moved = [{ ...target, credentials }];
    expect((await gatehouse.api("PATCH", path, { targets: moved })).status).toBe(200);
    const { body: before } = await gatehouse.api("GET", path);
    const back = [{ ...target, credentials: { ...masked(credentials), ...change } }];
    const response = await gatehouse.api("PUT", path, { ...before, targets: back });
    expectError(response, 400, "credential_required");
    expect(response.body.details).toEqual([
      {
        path: "targets[0].credentials.client_secret",
        message: expect.stringContaining(`another credentials.${field}`),
      },
    ]);
    const { name } = (await gatehouse.api("GET", `/gateways/${gateway}`)).body;
    const { id: removed, ...anonymous } = back[0]!;
    expect(removed).toBeString();
    const document = { gateways: [{ name, upstreams: [{ name: "models", targets: [anonymous] }] }] };
    expectError(await gatehouse.api("POST", "/apply", document), 400, "credential_required");
    expectError(await gatehouse.api("POST", `/revisions/${revision}/rollback`), 400, "credential_required");
    expect((await gatehouse.api("GET", path)).body).toEqual(before);
  },
);

test.each<[name: string, credentials: unknown, path: string, message: string]>([
  ["an unknown type", { ...oauth, type: "azure_clinet" }, "type", 'did you mean "azure_client"?'],
  ["a field of another type", { ...oauth, tenant_id: "x" }, "tenant_id", "unknown field"],
  ["a misspelled field", { ...aws, acces_key_id: "x" }, "acces_key_id", 'did you mean "access_key_id"?'],
  [
    "one key only",
    { ...aws, secret_access_key: null },
    "secret_access_key",
    "is required with access_key_id",
  ],
  [
    "a session token without keys",
    { type: "aws_sigv4", region: "r", service: "s", session_token: "x" },
    "session_token",
    "needs access_key_id",
  ],
  ["a region with a slash", { ...aws, region: "a/b" }, "region", "letters"],
  ["a tenant that leaves its path", { ...azure, tenant_id: "../x" }, "tenant_id", "tenant"],
  [
    "a token URL with a password",
    { ...oauth, token_url: "https://a:b@example.com/" },
    "token_url",
    "must not contain a user",
  ],
  ["a token URL of another scheme", { ...oauth, token_url: "file:///etc/passwd" }, "token_url", "http"],
  ["a service account that is no JSON", { ...gcp, service_account: "x" }, "service_account", "JSON"],
  [
    "a user's credentials",
    { ...gcp, service_account: '{"type":"authorized_user"}' },
    "service_account",
    '"type": "service_account"',
  ],
  [
    "an unusable private key",
    { ...gcp, service_account: createServiceAccount({ private_key: "x" }).text },
    "service_account",
    "RSA",
  ],
  ["no scope", { ...gcp, scopes: [] }, "scopes", "at least one"],
  ["a mask without a stored secret", { ...oauth, client_secret: "abc***wxyz" }, "client_secret", "masked"],
])("%s is rejected", async (_, credentials, field, message) => {
  const response = await post(credentials);
  expectError(response, 400, "validation_failed");
  expect(response.body.details).toContainEqual({
    path: `targets[0].credentials.${field}`,
    message: expect.stringContaining(message),
  });
  expectNoSecret(response.body);
});

test("type header may be given or omitted, and means the same", async () => {
  const header = { header_name: "Authorization", header_value: "Bearer sk-0123456789abcdef" };
  const { path, shown } = await seed(header);
  expect(shown.targets[0].credentials).toEqual({ ...header, header_value: "Bea***cdef" });
  const typed = { ...shown.targets[0], credentials: { ...shown.targets[0].credentials, type: "header" } };
  expect((await gatehouse.api("PATCH", path, { targets: [typed] })).status).toBe(200);
  expect((await gatehouse.api("GET", path)).body.targets[0].credentials).toEqual(typed.credentials);
});

test("an explanation names the type of the credentials, and shows nothing of them", async () => {
  for (const credentials of ALL) {
    const route = await seedRoute(gatehouse, { upstream: { targets: [targetWith(credentials)] } });
    const { body } = await gatehouse.api("POST", `/gateways/${route.gateway}/explain`, {
      path: route.path,
      body: CHAT,
    });
    expect(body.targets[0].credentials).toBe(credentials.type);
    expect(body.upstream_request.headers.authorization).toBe("***");
    expectNoSecret(body);
    const { name } = (await gatehouse.api("GET", `/gateways/${route.gateway}`)).body;
    const args = ["explain", "--gateway", name, "--path", route.path];
    const { stdout } = await runCommand(args, settingsOf(gatehouse));
    expect(stdout).toContain(`credentials ${credentials.type}): receives this request`);
    expectNoSecret(stdout);
  }
  expect(provider.requestCount).toBe(0);
});

test("check validates a document whose secrets are in variables that are not set", async () => {
  const file = join(directory, "unset.yaml");
  const write = (provider: string) =>
    Bun.write(
      file,
      `gateways:
  - name: unset
    upstreams:
      - name: models
        targets:
          - {provider: ${provider}, credentials: {type: gcp_service_account, service_account: "\${ACCOUNT}"}}
          - {provider: openai, credentials: {type: azure_client, tenant_id: "\${TENANT}", client_id: a, client_secret: "\${SECRET}"}}
`,
    );
  const run = async () => {
    const { code, stdout, stderr } = await runCommand(["check", file], settingsOf(gatehouse));
    return { code, text: stdout + stderr };
  };
  await write("openai");
  expect(await run()).toMatchObject({ code: 0, text: expect.stringContaining("no problems in 1 gateway") });
  await write("unheard-of");
  expect(await run()).toMatchObject({ code: 1, text: expect.stringContaining("needs a base_url") });
});

test("check warns that a document uses the role of the server's environment", async () => {
  const file = join(directory, "role.yaml");
  await Bun.write(
    file,
    `gateways:
  - name: role
    upstreams:
      - name: models
        targets:
          - {provider: vllm, base_url: "https://a.example", credentials: {type: aws_sigv4, region: us-east-1, service: sagemaker}}
`,
  );
  const { code, stdout, stderr } = await runCommand(["check", file], settingsOf(gatehouse));
  expect({ code, warned: (stdout + stderr).includes("ALLOW_ENVIRONMENT_CREDENTIALS must allow") }).toEqual({
    code: 0,
    warned: true,
  });
});

describe("the role of the environment", () => {
  const role = { type: "aws_sigv4", region: "us-east-1", service: "bedrock" };
  const env = {
    ALLOW_ENVIRONMENT_CREDENTIALS: "true",
    AWS_ACCESS_KEY_ID: "ASIAEXAMPLE",
    AWS_SECRET_ACCESS_KEY: "secret-of-the-environment",
    AWS_SESSION_TOKEN: "token-of-the-environment",
  };

  test("signs with the variables of the environment, and only while the setting allows it", async () => {
    const dataDir = temporaryDirectory();
    const allowed = await startGatehouseProcess({ env, dataDir, keepData: true });
    const { path } = await seedRoute(allowed, { upstream: { targets: [targetWith(role)] } });
    const other = await seedRoute(allowed, { upstream: { targets: [targetWith(null)] } });
    expect((await rawJson(allowed.proxyUrl, path, CHAT)).status).toBe(200);
    const request = onlyRequest(provider);
    expect(await checkSignature(request, "secret-of-the-environment")).toMatchObject({
      accessKeyId: "ASIAEXAMPLE",
      isValid: true,
    });
    expect(request.header("x-amz-security-token")).toBe("token-of-the-environment");
    await allowed.stop();

    // Without the setting, the stored gateway is not served and is reported; the other one is served.
    const { ALLOW_ENVIRONMENT_CREDENTIALS: removed, ...keys } = env;
    expect(removed).toBe("true");
    const denied = await startGatehouseProcess({ env: keys, dataDir, notReady: true });
    try {
      const readiness = await waitFor(async () => {
        const response = await fetch(`${denied.adminUrl}/readyz`);
        const text = await response.text();
        return text.includes("ALLOW_ENVIRONMENT_CREDENTIALS") ? text : null;
      });
      expect(readiness).toContain("faulty_gateways");
      expect((await rawJson(denied.proxyUrl, path, CHAT)).status).not.toBe(200);
      expect((await rawJson(denied.proxyUrl, other.path, CHAT)).status).toBe(200);
    } finally {
      await denied.stop();
    }
  });
});
