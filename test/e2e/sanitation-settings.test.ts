// The settings of code_sanitation that select patterns: sensitivity and exclude, how they are validated, and where a finding is reported
// outside of messages.
import { describe, expect, test } from "bun:test";
import { create } from "../support/admin-fixtures.ts";
import { seedRoute, targetAt } from "../support/proxy-fixtures.ts";
import { useFakeProvider, useGatehouse } from "../support/use-gatehouse.ts";

const provider = await useFakeProvider();
const gatehouse = await useGatehouse();

type Fields = Record<string, unknown>;

const pluginWith = (entry: Fields, fields: Fields = {}) => ({
  name: "code_sanitation",
  stage: "pre_request",
  settings: {
    languages: [{ language: "sql", ...entry }],
    content_to_check: ["all"],
    action: "block",
    ...fields,
  },
});

async function route(entry: Fields, fields: Fields = {}): Promise<string> {
  const { path } = await seedRoute(gatehouse, {
    gateway: { required_plugins: [pluginWith(entry, fields)] },
    upstream: { targets: [targetAt(provider, { path: "/echo" })] },
  });
  return gatehouse.proxyUrl + path;
}

async function send(
  url: string,
  content: string,
  init: RequestInit = {},
): Promise<Fields & { status: number }> {
  const response = await fetch(url, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ model: "m", messages: [{ role: "user", content }] }),
    ...init,
  });
  return { ...((await response.json()) as Fields), status: response.status };
}

const MENTION = "What is the difference between union select and drop table?";
const STATEMENT = "1 UNION SELECT name, password FROM users";
const BREAKOUT = "x'; DROP TABLE users; --";

test.each([
  ["strict", [400, 400, 400]],
  ["balanced", [200, 400, 400]],
  ["relaxed", [200, 200, 400]],
] as const)("%s: a mention, a statement and a break-out", async (sensitivity, expected) => {
  const url = await route({ sensitivity });
  const statuses: number[] = [];
  for (const text of [MENTION, STATEMENT, BREAKOUT]) statuses.push((await send(url, text)).status);
  expect(statuses).toEqual([...expected]);
});

test("an excluded pattern is not found, and others are", async () => {
  const found = await send(await route({}), STATEMENT);
  const { details } = found as unknown as { details: { pattern: string }[] };
  const url = await route({ exclude: details.map(({ pattern }) => pattern) });
  const without = await send(url, STATEMENT);
  expect(JSON.stringify(without["details"] ?? [])).not.toContain(details[0]?.pattern ?? "?");
  expect((await send(url, BREAKOUT)).status).toBe(400);
});

test("an unknown pattern is rejected with the nearest one, and nothing is stored", async () => {
  const plugin = pluginWith({ exclude: ["sql.union-select", "sql.unionselect"] });
  const { status, body } = await gatehouse.api("POST", "/gateways", {
    name: "x",
    required_plugins: [plugin],
  });
  expect(status).toBe(400);
  expect(body.details).toEqual([
    {
      path: "required_plugins[0].settings.languages[0].exclude[1]",
      message: 'sql has no pattern "sql.unionselect"; did you mean "sql.union-select"?',
    },
  ]);
});

test("the settings are part of the exported configuration", async () => {
  const plugin = pluginWith(
    { sensitivity: "relaxed", exclude: ["sql.stacked"] },
    { roles: ["user", "tool"] },
  );
  const { id } = await create(gatehouse, "/gateways", { name: "exported", required_plugins: [plugin] });
  const { body } = await gatehouse.api("GET", `/gateways/${id}`);
  expect(body.required_plugins[0].settings).toMatchObject(plugin.settings);
});

describe("a finding outside of messages is reported", () => {
  const code = BREAKOUT;

  test.each([
    ["in a header", "headers.x-note", { headers: { "Content-Type": "application/json", "X-Note": code } }],
    ["in a text body", "body", { body: `name: ${code}`, headers: { "Content-Type": "text/plain" } }],
    ["in a key", "metadata.*", { body: JSON.stringify({ metadata: { [code]: 1 } }) }],
    ["in metadata", "metadata.note", { body: JSON.stringify({ metadata: { note: code } }) }],
  ])("%s", async (_, path, init) => {
    const { status, details } = await send(await route({}), "hello", init);
    expect(status).toBe(400);
    expect(details).toMatchObject([
      { path, language: "sql", role: path.startsWith("metadata") ? "other" : null },
    ]);
    expect(JSON.stringify(details)).not.toContain("DROP");
  });

  test("in the query", async () => {
    const { details } = await send(`${await route({})}?q=${encodeURIComponent(code)}`, "hello");
    expect(details).toMatchObject([{ path: "query", language: "sql", role: null }]);
  });
});
