// Moving a rule in the order of priorities: one revision, preconditions, and which rule requests get afterwards.
import { beforeEach, expect, test } from "bun:test";
import { create, createChain, expectError, expectProblemsAt, type Chain } from "../support/admin-fixtures.ts";
import { useGatehouse } from "../support/use-gatehouse.ts";

const gatehouse = await useGatehouse();
let chain: Chain;
let rules = "";
/** Ids of three rules for the same requests, in order of age. */
let ids: string[] = [];

beforeEach(async () => {
  chain = await createChain(gatehouse, "order");
  rules = `/gateways/${chain.gateway}/rules`;
  await gatehouse.api("DELETE", `${rules}/${chain.rule}`);
  ids = [];
  for (const name of ["a", "b", "c"]) {
    const fields = { name, path: "/same", methods: ["POST"], service_id: chain.service };
    ids.push((await create(gatehouse, rules, fields)).id as string);
  }
});

const move = (id: string | undefined, place: object, headers: Record<string, string> = {}) =>
  gatehouse.api("POST", `${rules}/${id}/move`, place, headers);
const list = async (): Promise<{ name: string; priority: number }[]> =>
  (await gatehouse.api("GET", `${rules}?sort=priority`)).body.rules;
const order = async () => (await list()).map(({ name, priority }) => `${name} ${priority}`);
const revision = async () => (await gatehouse.api("GET", "/revisions?limit=1")).body.revisions[0];

test("a move is one revision of the moved rule, changes only priorities, and decides which rule is used", async () => {
  const before = await revision();
  const [a, b, c] = ids;
  const withoutPriorities = async () =>
    Object.fromEntries((await list()).map((rule) => [rule.name, { ...rule, priority: 0, updated_at: "" }]));
  const others = await withoutPriorities();
  const moved = await move(c, { before: b });
  expect([moved.status, moved.body.priority, moved.headers.get("etag")]).toEqual([
    200,
    1,
    expect.any(String),
  ]);
  expect(await order()).toEqual(["a 0", "c 1", "b 2"]);
  const after = await revision();
  expect(after).toMatchObject({
    revision: Number(before.revision) + 1,
    resource: "rule",
    name: "c",
    action: "update",
  });
  expect((await gatehouse.api("GET", `/revisions/${after.revision}`)).body.records).toHaveLength(2);
  expect(await withoutPriorities()).toEqual(others);

  expect((await move(b, { before: a })).body.priority).toBe(-1);
  const explained = await gatehouse.api("POST", `/gateways/${chain.gateway}/explain`, { path: "/same" });
  expect(explained.body.rule.name).toBe("b");
  expect((await move(b, { after: c })).body.priority).toBe(2);
  expect(await order()).toEqual(["a 0", "c 1", "b 2"]);
  const { revision: last } = await revision();
  expect((await move(b, { after: c })).status).toBe(200);
  expect((await revision()).revision).toBe(last);
});

test("a rule that was changed meanwhile is not moved", async () => {
  const [a, , c] = ids;
  const etag = (await gatehouse.api("GET", `${rules}/${c}`)).headers.get("etag") ?? "";
  await gatehouse.api("PATCH", `${rules}/${c}`, { active: false });
  expectError(await move(c, { before: a }, { "If-Match": etag }), 412, "precondition_failed");
  expect(await order()).toEqual(["a 0", "b 0", "c 0"]);
  const current = (await gatehouse.api("GET", `${rules}/${c}`)).headers.get("etag") ?? "";
  const moved = await move(c, { before: a }, { "If-Match": current });
  expect(moved.body).toMatchObject({ active: false, priority: -1 });
  expect(moved.headers.get("etag")).not.toBe(current);
});

test("the place must be one other rule of the same gateway", async () => {
  const [a, b] = ids;
  const other = await createChain(gatehouse, "other");
  for (const place of [{}, { before: a, after: b }]) expectProblemsAt(await move(a, place), "");
  expectProblemsAt(await move(a, { before: other.rule }), "before");
  expectProblemsAt(await move(a, { after: a }), "after");
  expectProblemsAt(await move(a, { after: "" }), "after");
  expectProblemsAt(await move(a, { before: b, position: 1 }), "position");
  expectError(await move(other.rule, { before: a }), 404, "not_found");
  expect(await order()).toEqual(["a 0", "b 0", "c 0"]);
});
