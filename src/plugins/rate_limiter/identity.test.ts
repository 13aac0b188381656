// Whom a request counts for: precedence, name spaces that cannot be confused, and keys of bounded length.
import { describe, expect, test } from "bun:test";
import { definePlugin, z, type PluginContext } from "../../sdk/index.ts";
import { testPlugin, type TestRequest } from "../../sdk/testing.ts";
import { subjectOf, type LimitType } from "./identity.ts";

async function subject(type: LimitType, request: TestRequest): Promise<string> {
  let found = "";
  const asking = definePlugin({
    name: "asking",
    description: "",
    stages: ["pre_request"],
    settings: z.object({}),
    create: () => ({ pre_request: (context) => void (found = subjectOf(type, context)) }),
  });
  await testPlugin(asking).preRequest(request);
  return found;
}

const apiKey: PluginContext["apiKey"] = { id: "0190-key", name: "a key" };
const body = { user: "bob" };

describe("per_user", () => {
  test.each<[string, TestRequest, string]>([
    ["X-User-ID before all", { headers: { "x-user-id": "ann" }, apiKey, body }, "id:ann"],
    ["then the API key", { apiKey, body }, "key:0190-key"],
    ["then the body's user", { body }, "user:bob"],
    ["then one for all", {}, "anonymous"],
    ["an empty X-User-ID says nothing", { headers: { "x-user-id": "" }, body }, "user:bob"],
    ["an empty user says nothing", { body: { user: "" } }, "anonymous"],
    ["a user that is no text says nothing", { body: { user: { id: 1 } } }, "anonymous"],
    ["a body that is no object has no user", { body: ["user"] }, "anonymous"],
    ["a body that is no JSON has no user", { body: "user=bob" }, "anonymous"],
  ])("%s", async (_what, request, expected) => {
    expect(await subject("per_user", request)).toBe(expected);
  });

  test("no two ways of naming lead to one subject", async () => {
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

  test("a long name has a short subject of its own", async () => {
    const long = (end: string) => subject("per_user", { body: { user: "x".repeat(100_000) + end } });
    expect((await long("1")).length).toBeLessThan(100);
    expect(await long("1")).toBe(await long("1"));
    expect(await long("1")).not.toBe(await long("2"));
    const header = { headers: { "x-user-id": `${"x".repeat(100_000)}1` } };
    expect(await subject("per_user", header)).not.toBe(await long("1"));
  });
});

test("per_ip is the client's address, and global is one for all", async () => {
  expect(await subject("per_ip", { clientAddress: "2001:db8::1" })).toBe("2001:db8::1");
  const everybody = [{}, { apiKey, body, clientAddress: "192.0.2.9", headers: { "x-user-id": "ann" } }];
  expect(await Promise.all(everybody.map((request) => subject("global", request)))).toEqual(["", ""]);
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

  test("is the same for the same, and hides what it is made of", async () => {
    const print = await subject("per_fingerprint", base);
    expect(await subject("per_fingerprint", { ...base })).toBe(print);
    expect(print).toMatch(/^[\w-]{43}$/);
  });

  test.each<[string, TestRequest]>([
    ["user", { ...base, body: { user: "carol" } }],
    ["X-User-ID", withHeaders({ "x-user-id": "bob" })],
    ["credential", withHeaders({ authorization: "Bearer sk-other" })],
    ["address", { ...base, clientAddress: "192.0.2.2" }],
    ["User-Agent", withHeaders({ "user-agent": "tool/2" })],
    ["API key", { ...base, apiKey }],
  ])("another %s makes another one", async (_what, other) => {
    expect(await subject("per_fingerprint", other)).not.toBe(await subject("per_fingerprint", base));
  });

  test("with a gateway key the client's own credential does not matter", async () => {
    const one = await subject("per_fingerprint", { ...base, apiKey });
    expect(
      await subject("per_fingerprint", { ...withHeaders({ authorization: "Bearer new" }), apiKey }),
    ).toBe(one);
  });

  test.each(["x-api-key", "api-key"])("%s is a credential too", async (name) => {
    const prints = ["a", "b"].map((value) => subject("per_fingerprint", { headers: { [name]: value } }));
    const [one, two] = await Promise.all(prints);
    expect(one).not.toBe(two!);
  });

  test("its parts cannot run into each other", async () => {
    const one = await subject("per_fingerprint", { headers: { "x-user-id": "a", authorization: "bc" } });
    const two = await subject("per_fingerprint", { headers: { "x-user-id": "ab", authorization: "c" } });
    expect(one).not.toBe(two);
  });
});
