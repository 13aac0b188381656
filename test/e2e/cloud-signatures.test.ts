// Targets with aws_sigv4 credentials: every request that is sent has a valid signature of its final form.
import { beforeEach, expect, test } from "bun:test";
import type { RecordedRequest } from "../../src/fake-provider/server.ts";
import { expectError } from "../support/admin-fixtures.ts";
import { CHAT, onlyRequest, rawJson, seedRoute, targetAt } from "../support/proxy-fixtures.ts";
import { checkSignature } from "../support/sigv4-check.ts";
import { useFakeProvider, useGatehouse } from "../support/use-gatehouse.ts";

const gatehouse = await useGatehouse();
const provider = await useFakeProvider();
const SECRET = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY";
const credentials = {
  type: "aws_sigv4",
  region: "eu-west-1",
  service: "bedrock",
  access_key_id: "AKIDEXAMPLE",
  secret_access_key: SECRET,
};
const bedrock = (fields: Record<string, unknown> = {}) =>
  targetAt(provider, { provider: "bedrock", credentials, ...fields });

async function expectSigned(request: RecordedRequest): Promise<readonly string[]> {
  const { signedHeaders, ...checked } = await checkSignature(request, SECRET);
  expect(checked).toEqual({
    accessKeyId: "AKIDEXAMPLE",
    region: "eu-west-1",
    service: "bedrock",
    isValid: true,
  });
  return signedHeaders;
}

beforeEach(() => provider.reset());

test("a request is signed with its path, query, headers and body, and the client's credential is not sent", async () => {
  const { path } = await seedRoute(gatehouse, {
    upstream: { targets: [bedrock({ path: "/openai/v1/model%3A1/chat", headers: { "X-Team": " a  b " } })] },
  });
  const response = await rawJson(gatehouse.proxyUrl, `${path}?b=2&a=%20x&a=1`, CHAT, [
    ["Authorization", "Bearer of the client"],
    ["X-Amz-Date", "19990101T000000Z"],
    ["X-Amz-Security-Token", "of the client"],
  ]);
  expect(response.status).toBe(200);
  const request = onlyRequest(provider);
  expect(request.target).toBe("/openai/v1/model%3A1/chat?b=2&a=%20x&a=1");
  const signed = await expectSigned(request);
  expect(signed).toEqual(expect.arrayContaining(["content-type", "host", "x-amz-date", "x-team"]));
  expect(request.header("x-amz-security-token")).toBeUndefined();
  expect(JSON.stringify(request.headers)).not.toContain("of the client");
  const age =
    Date.now() -
    Date.parse(
      `${request.header("x-amz-date")?.replace(/^(....)(..)(..)T(..)(..)(..)Z$/, "$1-$2-$3T$4:$5:$6Z")}`,
    );
  expect(age).toBeWithin(-2000, 60_000);
});

test("the session token of temporary keys is sent and signed", async () => {
  const temporary = { ...credentials, session_token: "a-session-token-of-the-role" };
  const { path } = await seedRoute(gatehouse, {
    upstream: { targets: [bedrock({ credentials: temporary })] },
  });
  expect((await rawJson(gatehouse.proxyUrl, path, CHAT)).status).toBe(200);
  const request = onlyRequest(provider);
  expect(request.header("x-amz-security-token")).toBe("a-session-token-of-the-role");
  expect(await expectSigned(request)).toContain("x-amz-security-token");
});

test("each attempt is signed for the request that it sends: retries, other models, and the repetition without an option", async () => {
  const second = { ...bedrock({ default_model: "another-model", models: ["another-model"] }), priority: 2 };
  const { path } = await seedRoute(gatehouse, {
    upstream: { targets: [bedrock(), second], model_routing: "any" },
  });
  provider.behave(({ serial }) => (serial === 1 ? { status: 503 } : { refuseStreamOptions: 400 }));
  const response = await rawJson(gatehouse.proxyUrl, path, { ...CHAT, stream: true });
  expect(response.status).toBe(200);
  expect(provider.requests.length).toBe(3);
  for (const request of provider.requests) await expectSigned(request);
  expect(provider.requests.map((request) => (request.json() as { model: string }).model)).toEqual([
    CHAT.model,
    "another-model",
    "another-model",
  ]);
});

test("different keys never share a connection", async () => {
  const other = { ...credentials, secret_access_key: "another-secret-access-key" };
  const first = await seedRoute(gatehouse, { upstream: { targets: [bedrock()] } });
  const second = await seedRoute(gatehouse, {
    gateway: first.gateway,
    upstream: { name: "other", targets: [bedrock({ credentials: other })] },
  });
  for (const { path } of [first, second, first])
    expect((await rawJson(gatehouse.proxyUrl, path, CHAT)).status).toBe(200);
  const [a, b, c] = provider.requests.map(({ connection }) => connection);
  expect(a).not.toBe(b);
  expect(c).toBe(a);
});

test("the role of the environment is rejected unless ALLOW_ENVIRONMENT_CREDENTIALS is set", async () => {
  const { gateway } = await seedRoute(gatehouse, { upstream: { targets: [bedrock()] } });
  const role = { type: "aws_sigv4", region: "eu-west-1", service: "bedrock" };
  const response = await gatehouse.api("POST", `/gateways/${gateway}/upstreams`, {
    name: "role",
    targets: [bedrock({ credentials: role })],
  });
  expectError(response, 400, "validation_failed");
  expect(response.body.details).toEqual([
    {
      path: "targets[0].credentials",
      message: expect.stringContaining("ALLOW_ENVIRONMENT_CREDENTIALS=true"),
    },
  ]);
});
