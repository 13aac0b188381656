// Conversations that grow with every request: what was inspected before is remembered, and everything new is inspected.
import { describe, expect, test } from "bun:test";
import { readMetrics } from "../support/prometheus-text.ts";
import { seedRoute, targetAt } from "../support/proxy-fixtures.ts";
import { useFakeProvider, useGatehouseOnManualClock } from "../support/use-gatehouse.ts";

const provider = await useFakeProvider();
const gatehouse = await useGatehouseOnManualClock();

const ATTACK = "x'; DROP TABLE users; --";
const PROSE =
  "Please read the report below and write a summary, with the risks that are open and their owners. ";
const textsOf = (count: number) =>
  Array.from({ length: count }, (_, index) => `${index}. ${PROSE.repeat(20)}`);

const plugin = (fields: Record<string, unknown> = {}) => ({
  name: "code_sanitation",
  stage: "pre_request",
  settings: {
    languages: ["sql", "shell", "html"].map((language) => ({ language })),
    content_to_check: ["body"],
    action: "block",
    ...fields,
  },
});

async function seed(fields: Record<string, unknown> = {}) {
  const { path, gateway } = await seedRoute(gatehouse, {
    gateway: { required_plugins: [plugin(fields)] },
    upstream: { targets: [targetAt(provider, { path: "/echo" })] },
  });
  const { body } = await gatehouse.api("GET", `/gateways/${gateway}`);
  const send = (texts: readonly string[]) =>
    fetch(gatehouse.proxyUrl + path, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ model: "m", messages: texts.map((content) => ({ role: "user", content })) }),
    });
  const texts = async (kind: string) => {
    const page = readMetrics(await (await fetch(`${gatehouse.adminUrl}/metrics`)).text());
    return page.sum("gatehouse_plugin_events_total", { gateway: String(body.name), event: "texts", kind });
  };
  return { gateway, send, texts };
}

const PLACES: readonly [string, count: number][] = [
  ["on the event loop", 20],
  ["in a worker thread", 200],
];

describe.each(PLACES)("a conversation that is inspected %s", (_, count) => {
  test("is inspected once; an attack that is added later is blocked, every time", async () => {
    const { send, texts } = await seed();
    const conversation = textsOf(count);
    expect((await send(conversation)).status).toBe(200);
    expect(await texts("inspected")).toBe(count);
    expect((await send(conversation)).status).toBe(200);
    expect(await texts("remembered")).toBeGreaterThan(count * 0.9);
    for (let turn = 0; turn < 2; turn++) {
      const response = await send([...conversation, `${PROSE.repeat(20)}${ATTACK}`]);
      expect(response.status).toBe(400);
      expect(await response.json()).toMatchObject({
        code: "code_injection_detected",
        details: [{ path: `messages[${count}].content`, language: "sql" }],
      });
    }
    const [first = "", ...others] = conversation;
    expect((await send([first + ATTACK, ...others])).status).toBe(400);
    expect((await send(conversation)).status).toBe(200);
  });
});

/** Enough that each of the threads for large bodies has inspected the conversation. */
const TURNS = 4;

describe.each(PLACES)("%s", (_, count) => {
  test("changed settings forget what was inspected: a text that passed before is blocked", async () => {
    const { gateway, send, texts } = await seed({ languages: [{ language: "python" }] });
    const conversation = [...textsOf(count), `${PROSE.repeat(20)}${ATTACK}`];
    for (let turn = 0; turn < TURNS; turn++) expect((await send(conversation)).status).toBe(200);
    const remembered = await texts("remembered");
    expect(remembered).toBeGreaterThan(count * 0.9);
    const changed = await gatehouse.api("PATCH", `/gateways/${gateway}`, { required_plugins: [plugin()] });
    expect(changed.status).toBe(200);
    expect((await send(conversation)).status).toBe(400);
    expect(await texts("remembered")).toBe(remembered);
  });

  test("gateways do not share what they inspected", async () => {
    const [one, other] = [await seed(), await seed()];
    const conversation = textsOf(count);
    for (let turn = 0; turn < TURNS; turn++) expect((await one.send(conversation)).status).toBe(200);
    expect(await one.texts("remembered")).toBeGreaterThan(count * 0.9);
    expect((await other.send(conversation)).status).toBe(200);
    expect(await other.texts("inspected")).toBe(count);
  });
});
