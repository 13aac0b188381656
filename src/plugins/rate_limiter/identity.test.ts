// Tests which subject a request is counted for: precedence, distinct namespaces, and keys of bounded length.
import { describe, expect, test } from "bun:test";
import { definePlugin, z, type PluginContext } from "../../sdk/index.ts";
import { testPlugin, type TestRequest } from "../../sdk/testing.ts";
import { subjectOf, type LimitType } from "./identity.ts";

async function subject(type: LimitType, request: TestRequest): Promise<string> {
  let found: string | null = null;
  const probe = definePlugin({
    name: "probe",
    description: "",
    stages: ["pre_request"],
    settings: z.object({}),
    create: () => ({
      claims(context) {
        found = subjectOf(type, context, 64);
        return null;
      },
    }),
  });
  await testPlugin(probe).preRequest(request);
  return found ?? "not limited";
}

const apiKey: PluginContext["apiKey"] = { id: "0190-key", name: "a key" };
const body = { user: "bob" };

describe("per_user", () => {
  test.each<[string, TestRequest, string]>([
    ["X-User-ID has the highest precedence", { headers: { "x-user-id": "ann" }, apiKey, body }, "id:ann"],
    ["the API key is next", { apiKey, body }, "key:0190-key"],
    ["the user of the body is next", { body }, "user:bob"],
    ["requests without any of them share one subject", {}, "anonymous"],
    ["an empty X-User-ID is ignored", { headers: { "x-user-id": "" }, body }, "user:bob"],
    ["an empty user is ignored", { body: { user: "" } }, "anonymous"],
    ["a user that is not a string is ignored", { body: { user: { id: 1 } } }, "anonymous"],
    ["a body that is not an object has no user", { body: ["user"] }, "anonymous"],
    ["a body that is not JSON has no user", { body: "user=bob" }, "anonymous"],
  ])("%s", async (_what, request, expected) => {
    expect(await subject("per_user", request)).toBe(expected);
  });

  test("different sources of a user never share a subject", async () => {
    const requests: TestRequest[] = [
      { headers: { "x-user-id": "anonymous" } },
      { body: { user: "anonymous" } },
      {},
      { headers: { "x-user-id": "key:0190-key" } },
      { headers: { "x-user-id": "0190-key" } },
      { body: { user: "key:0190-key" } },
      { apiKey },
      { body: { user: "id:ann" } },
      { headers: { "x-user-id": "ann" } },
      { headers: { "x-user-id": "user:ann" } },
    ];
    const subjects = await Promise.all(requests.map((request) => subject("per_user", request)));
    expect(new Set(subjects).size).toBe(requests.length);
  });

  test("a long name has a short and distinct subject", async () => {
    const long = (end: string) => subject("per_user", { body: { user: "x".repeat(100_000) + end } });
    expect((await long("1")).length).toBeLessThan(100);
    expect(await long("1")).toBe(await long("1"));
    expect(await long("1")).not.toBe(await long("2"));
    const header = { headers: { "x-user-id": `${"x".repeat(100_000)}1` } };
    expect(await subject("per_user", header)).not.toBe(await long("1"));
  });
});

test("per_ip is the client address or its IPv6 network, and global is the same for all requests", async () => {
  expect(await subject("per_ip", { clientAddress: "192.0.2.1" })).toBe("192.0.2.1");
  expect(await subject("per_ip", { clientAddress: "2001:db8::1" })).toBe("2001:db8:0:0::/64");
  const requests = [{}, { apiKey, body, clientAddress: "192.0.2.9", headers: { "x-user-id": "ann" } }];
  expect(await Promise.all(requests.map((request) => subject("global", request)))).toEqual(["", ""]);
});

test("per_key, per_model and per_label", async () => {
  const request: TestRequest = { apiKey, labels: { team: "search" }, body: { model: "m" } };
  const types = ["per_key", "per_model", "per_label:team", "per_label:stage"] as const;
  expect(await Promise.all(types.map((type) => subject(type, request)))).toEqual([
    "key:0190-key",
    "model:m",
    "search",
    "not limited",
  ]);
  expect(await Promise.all(types.map((type) => subject(type, {})))).toEqual([
    "anonymous",
    "unknown",
    "not limited",
    "not limited",
  ]);
});

describe("per_fingerprint", () => {
  const base: TestRequest = {
    headers: { authorization: "Bearer sk-own-secret", "user-agent": "tool/1" },
    clientAddress: "192.0.2.1",
    body,
  };
  const withHeaders = (headers: Record<string, string>): TestRequest => ({
    ...base,
    headers: { ...base.headers, ...headers },
  });

  test("is stable and does not reveal its parts", async () => {
    const fingerprint = await subject("per_fingerprint", base);
    expect(await subject("per_fingerprint", { ...base })).toBe(fingerprint);
    expect(fingerprint).toMatch(/^[\w-]{43}$/);
  });

  test.each<[string, TestRequest]>([
    ["user", { ...base, body: { user: "carol" } }],
    ["X-User-ID", withHeaders({ "x-user-id": "bob" })],
    ["credential", withHeaders({ authorization: "Bearer sk-other" })],
    ["address", { ...base, clientAddress: "192.0.2.2" }],
    ["User-Agent", withHeaders({ "user-agent": "tool/2" })],
    ["API key", { ...base, apiKey }],
  ])("another %s gives another fingerprint", async (_what, other) => {
    expect(await subject("per_fingerprint", other)).not.toBe(await subject("per_fingerprint", base));
  });

  test("ignores the client's own credential if there is a gateway key", async () => {
    const one = await subject("per_fingerprint", { ...base, apiKey });
    expect(
      await subject("per_fingerprint", { ...withHeaders({ authorization: "Bearer new" }), apiKey }),
    ).toBe(one);
  });

  test.each<[string, (value: string) => TestRequest]>([
    ...["x-api-key", "api-key", "x-goog-api-key", "ocp-apim-subscription-key"].map(
      (name): [string, (value: string) => TestRequest] => [name, (value) => ({ headers: { [name]: value } })],
    ),
    ["the query parameter of Google's clients", (value) => ({ query: `?alt=sse&key=${value}` })],
  ])("%s is a credential too", async (_what, request) => {
    const fingerprints = ["a", "b"].map((value) => subject("per_fingerprint", request(value)));
    const [one, two] = await Promise.all(fingerprints);
    expect(one).not.toBe(two!);
  });

  test("is different if the same characters are split differently between its parts", async () => {
    const one = await subject("per_fingerprint", { headers: { "x-user-id": "a", authorization: "bc" } });
    const two = await subject("per_fingerprint", { headers: { "x-user-id": "ab", authorization: "c" } });
    expect(one).not.toBe(two);
  });
});
