// code_sanitation and texts that take much work to inspect: large bodies are inspected in worker threads, the work has a budget, and
// /healthz is answered meanwhile.
import { describe, expect, test } from "bun:test";
import { readMetrics, type MetricsPage } from "../support/prometheus-text.ts";
import { onlyRequest, seedRoute, targetAt } from "../support/proxy-fixtures.ts";
import { useFakeProvider, useGatehouseOnManualClock } from "../support/use-gatehouse.ts";
import { waitFor } from "../support/waiting.ts";

/** The texts that take the most work per byte; neither is found to be code. */
const WORST: Readonly<Record<string, string>> = {
  block: "&lt;a''''\uff07",
  sanitize: "=\"javascript:Z''%2527",
};
const MB = 1_000_000;
const ATTACK = "<script>alert(1)</script>";

const provider = await useFakeProvider();
const gatehouse = await useGatehouseOnManualClock();

const languages = ["javascript", "python", "php", "sql", "shell", "java", "csharp", "ruby", "html"];

async function route(
  fields: Record<string, unknown>,
): Promise<{ url: string; gateway: string; name: string }> {
  const settings = {
    languages: languages.map((language) => ({ language, enabled: true })),
    content_to_check: ["headers", "body"],
    ...fields,
  };
  const name = crypto.randomUUID();
  const { path, gateway } = await seedRoute(gatehouse, {
    gateway: { name, required_plugins: [{ name: "code_sanitation", stage: "pre_request", settings }] },
    upstream: { targets: [targetAt(provider, { path: "/echo" })] },
  });
  return { url: gatehouse.proxyUrl + path, gateway, name };
}

const chatOf = (content: string) => JSON.stringify({ model: "m", messages: [{ role: "user", content }] });
const repeatTo = (piece: string, length: number) =>
  piece.repeat(Math.ceil(length / piece.length)).slice(0, length);
const clean = (length: number) => repeatTo("The quick brown fox jumps over the lazy dog. ", length);

function send(url: string, body: string, headers: Record<string, string> = {}): Promise<Response> {
  return fetch(url, { method: "POST", headers: { "Content-Type": "application/json", ...headers }, body });
}

async function errorCodeOf(response: Response): Promise<string> {
  const { code } = (await response.json()) as { code: string };
  return `${response.status} ${code}`;
}

async function metrics(): Promise<MetricsPage> {
  return readMetrics(await (await fetch(`${gatehouse.adminUrl}/metrics`)).text());
}

/** The body that the provider received. Compare it with ===: a failed toBe would print all of it. */
const sentBody = () => Buffer.from(onlyRequest(provider).body).toString();
const tasksIn = (page: MetricsPage) => page.sum("gatehouse_off_loop_tasks_total");

/** Requests /healthz again and again until the promise settles. Resolves to the statuses. */
async function healthDuring(work: Promise<unknown>): Promise<number[]> {
  const statuses: number[] = [];
  let isDone = false;
  const done = work.finally(() => (isDone = true));
  do statuses.push((await fetch(`${gatehouse.proxyUrl}/healthz`)).status);
  while (!isDone);
  await done;
  return statuses;
}

describe.each(["block", "sanitize"])("the worst text, action %s", (action) => {
  test.each([0.5 * MB])(
    "%d bytes are blocked as incompletely inspected while /healthz is answered",
    async (size) => {
      const { url } = await route({ action });
      const before = tasksIn(await metrics());
      const response = send(url, chatOf(repeatTo(WORST[action]!, size)));
      const statuses = await healthDuring(response);
      expect(new Set(statuses)).toEqual(new Set([200]));
      expect(await errorCodeOf(await response)).toBe("400 inspection_incomplete");
      expect(provider.requests).toHaveLength(0);
      expect(tasksIn(await metrics())).toBeGreaterThan(before);
    },
  );

  test("with on_incomplete: continue the request is forwarded as it is, counted and logged", async () => {
    const { url, gateway, name } = await route({ action, on_incomplete: "continue" });
    const body = chatOf(repeatTo(WORST[action]!, 0.5 * MB));
    const response = await send(url, body);
    expect(response.status).toBe(200);
    await response.arrayBuffer();
    expect(sentBody() === body).toBe(true);
    const counted = () =>
      metrics().then(
        (page) => page.sum("gatehouse_plugin_events_total", { gateway: name, event: "incomplete" }) || null,
      );
    expect(await waitFor(counted)).toBe(1);
    const logged = await gatehouse.api("GET", `/gateways/${gateway}/requests`);
    expect(JSON.stringify(logged.body)).toMatch(/inspection incomplete \((budget|timeout)\), continued/);
  });
});

test("a body below 256 kB that takes too much work is blocked without a thread", async () => {
  const { url } = await route({ action: "block" });
  const before = tasksIn(await metrics());
  const response = await send(url, chatOf(repeatTo(WORST.block!, 100_000)));
  expect(await errorCodeOf(response)).toBe("400 inspection_incomplete");
  expect(tasksIn(await metrics())).toBe(before);
});

test("a header that takes too much work is blocked", async () => {
  const { url } = await route({ action: "sanitize" });
  const response = await send(url, chatOf("x"), { "X-Note": repeatTo(WORST.sanitize!, 12_000) });
  expect(await errorCodeOf(response)).toBe("400 inspection_incomplete");
});

describe("a large body", () => {
  test("that is clean is forwarded as it is", async () => {
    const { url } = await route({ action: "sanitize" });
    const body = chatOf(clean(3 * MB));
    const response = await send(url, body);
    expect(response.status).toBe(200);
    expect(sentBody() === body).toBe(true);
  });

  test("with code at its end is blocked", async () => {
    const { url } = await route({ action: "block" });
    const response = await send(url, chatOf(clean(MB) + ATTACK));
    expect(await errorCodeOf(response)).toBe("400 code_injection_detected");
    expect(provider.requests).toHaveLength(0);
  });

  test("with code at its end is masked, and all other bytes stay", async () => {
    const { url } = await route({ action: "sanitize" });
    const response = await send(url, chatOf(clean(MB) + ATTACK));
    expect(response.status).toBe(200);
    const body = sentBody();
    const before = chatOf(clean(MB) + ATTACK);
    expect(body).toHaveLength(before.length);
    expect(body.slice(-50)).not.toContain("alert");
    expect(body.slice(0, MB) === before.slice(0, MB)).toBe(true);
  });

  test("that is not UTF-8 is inspected too", async () => {
    const { url } = await route({ action: "block" });
    const bytes = Buffer.concat([Buffer.from(clean(MB)), Buffer.of(0xff), Buffer.from(ATTACK)]);
    const response = await fetch(url, {
      method: "POST",
      headers: { "Content-Type": "text/plain" },
      body: bytes,
    });
    expect(await errorCodeOf(response)).toBe("400 code_injection_detected");
  });
});
