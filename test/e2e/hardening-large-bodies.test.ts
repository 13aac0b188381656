// Bodies over 256 kB are translated in worker threads, and parsed there unless they have few values, with the same results as small ones.
import { rmSync } from "node:fs";
import { afterAll, describe, expect, test } from "bun:test";
import { RATE_LIMITER } from "../support/admin-fixtures.ts";
import { anthropicTargetOf } from "../support/balancing-fixtures.ts";
import { pluginsDirectory, SCRIPTED_PLUGINS } from "../support/plugin-fixtures.ts";
import { CHAT, onlyRequest, rawJson, seedRoute, targetAt } from "../support/proxy-fixtures.ts";
import { useFakeProvider, useGatehouseOnManualClock } from "../support/use-gatehouse.ts";
import { waitUntil } from "../support/waiting.ts";

/** Replaces the body of a request with a large one; `x-replace` chooses which. */
const REPLACING_CODE = `
  const padding = "x".repeat(400000);
  const kind = context.headers.get("x-replace");
  if (kind === "invalid") context.replaceBody("{" + padding);
  if (kind === "valid") context.replaceBody(JSON.stringify({ ...context.json, model: "replaced", padding }));`;

const pluginsFolder = pluginsDirectory(SCRIPTED_PLUGINS);
afterAll(() => rmSync(pluginsFolder, { recursive: true, force: true }));

const provider = await useFakeProvider();
const gatehouse = await useGatehouseOnManualClock({ env: { PLUGINS_DIR: pluginsFolder } });

const LARGE = "A sentence of a long prompt. ".repeat(20_000);
/** More values than are read on the event loop. */
const DENSE = Array.from({ length: 140_000 }, () => 1);

async function tasksCompleted(): Promise<number> {
  const metrics = await (await fetch(`${gatehouse.adminUrl}/metrics`)).text();
  return Number(/^gatehouse_off_loop_tasks_total\{result="completed"\} (\d+)$/m.exec(metrics)?.[1] ?? 0);
}

const chatOf = (content: unknown) => ({ ...CHAT, messages: [{ role: "user", content }] });

describe("requests", () => {
  const route = seedRoute(gatehouse, { upstream: { targets: [targetAt(provider)] } });

  /** Resolves to the number of tasks that worker threads ran for the request. */
  async function tasksFor(content: unknown): Promise<number> {
    const before = await tasksCompleted();
    const { path } = await route;
    expect((await rawJson(gatehouse.proxyUrl, path, chatOf(content))).status).toBe(200);
    expect(Buffer.from(onlyRequest(provider).body).toString()).toBe(JSON.stringify(chatOf(content)));
    return (await tasksCompleted()) - before;
  }

  test("a large body is parsed off the event loop and forwarded unchanged", async () => {
    expect(await tasksFor(DENSE)).toBe(1);
  });

  test("a body over 2 MiB is parsed off the event loop even if it has few values", async () => {
    expect(await tasksFor(LARGE.repeat(5))).toBe(1);
  });

  test("a large body with few values is parsed without a thread and forwarded unchanged", async () => {
    expect(await tasksFor(LARGE)).toBe(0);
  });

  test("a small body is parsed without a thread", async () => {
    const before = await tasksCompleted();
    const { path } = await route;
    expect((await rawJson(gatehouse.proxyUrl, path, chatOf("short"))).status).toBe(200);
    expect(await tasksCompleted()).toBe(before);
  });

  test.each([
    ["invalid JSON", `{"model":"m","messages":"${LARGE}`],
    ["a field that occurs twice", `{"model":"a","messages":["${LARGE}"],"model":"b"}`],
    ["invalid JSON after many values", `{"model":"m","messages":[${"1,".repeat(200_000)}]}`],
    [
      "a field that occurs twice after many values",
      `{"model":"a","messages":[${"1,".repeat(200_000)}1],"model":"b"}`,
    ],
    ["more than 512 levels", `{"a":"${LARGE}","b":${"[".repeat(600)}${"]".repeat(600)}}`],
  ])("a large body with %s is 400 invalid_json", async (_, body) => {
    const { path } = await route;
    const response = await rawJson(gatehouse.proxyUrl, path, body);
    expect(response.status).toBe(400);
    expect(response.json()).toMatchObject({ code: "invalid_json" });
    expect(provider.requestCount).toBe(0);
  });
});

describe("translations", () => {
  test("a request with too many tools whose calls are translated is 400", async () => {
    const prefix = `/tools-${crypto.randomUUID()}`;
    await seedRoute(gatehouse, {
      upstream: { targets: [targetAt(provider, { provider: "anthropic" })] },
      rule: { path: `${prefix}/*` },
    });
    const tools = Array.from({ length: 10_001 }, (_, index) => ({ type: "custom", name: `t${index}` }));
    const response = await rawJson(gatehouse.proxyUrl, `${prefix}/v1/responses`, { input: "Hi", tools });
    expect([response.status, response.json().code]).toEqual([400, "untranslatable"]);
    expect(response.json().error).toContain("10001 tools");
  });

  test("a Responses request does not get back a field that is large", async () => {
    const prefix = `/large-${crypto.randomUUID()}`;
    await seedRoute(gatehouse, {
      upstream: { targets: [targetAt(provider, { provider: "anthropic" })] },
      rule: { path: `${prefix}/*` },
    });
    const tools = [{ type: "function", name: "f", description: LARGE, parameters: { type: "object" } }];
    const body = { model: "m", input: "Hi", instructions: "Be brief.", tools };
    const response = await rawJson(gatehouse.proxyUrl, `${prefix}/v1/responses`, body);
    expect(response.json()).toMatchObject({ status: "completed", instructions: "Be brief.", tools: [] });
  });

  test("a large request and a large response are translated like small ones", async () => {
    const { path } = await seedRoute(gatehouse, {
      upstream: { targets: [anthropicTargetOf(provider)] },
      rule: { response_format: "openai" },
    });
    const send = async (content: string) => {
      provider.reset();
      provider.behave({ text: content });
      const response = await rawJson(gatehouse.proxyUrl, path, { ...chatOf(content), max_tokens: 7 });
      expect(response.status).toBe(200);
      const sent: unknown = JSON.parse(Buffer.from(onlyRequest(provider).body).toString());
      return { sent, received: response.json() };
    };
    const small = await send("short");
    const before = await tasksCompleted();
    const large = await send(LARGE);
    // The body is translated, and the response is translated.
    expect(await tasksCompleted()).toBe(before + 2);
    const enlarged: unknown = JSON.parse(
      JSON.stringify(small.sent).replaceAll('"short"', JSON.stringify(LARGE)),
    );
    expect(large.sent).toEqual(enlarged);
    expect(large.received).toMatchObject({ choices: [{ message: { role: "assistant", content: LARGE } }] });
  });

  test("a large request that the format cannot express is refused with the field", async () => {
    const { path } = await seedRoute(gatehouse, {
      upstream: { targets: [anthropicTargetOf(provider)] },
      rule: { response_format: "openai" },
    });
    const body = { ...CHAT, messages: [{ role: "nobody", content: LARGE }] };
    const response = await rawJson(gatehouse.proxyUrl, path, body);
    const small = await rawJson(gatehouse.proxyUrl, path, {
      ...CHAT,
      messages: [{ role: "nobody", content: "" }],
    });
    expect(response.status).toBe(small.status);
    expect(response.json()).toMatchObject({ code: "untranslatable", details: small.json()["details"] });
  });
});

describe("plugins", () => {
  test("the large body that a plugin sets is scanned again", async () => {
    const { path } = await seedRoute(gatehouse, {
      gateway: {
        required_plugins: [{ name: "scripted", stage: "pre_request", settings: { code: REPLACING_CODE } }],
      },
      upstream: { targets: [targetAt(provider)] },
    });
    const send = (kind: string) => rawJson(gatehouse.proxyUrl, path, CHAT, [["X-Replace", kind]]);
    const valid = await send("valid");
    expect([valid.status, valid.header("X-GW-Model")]).toEqual([200, "replaced"]);
    const invalid = await send("invalid");
    expect(invalid.status).toBe(500);
    expect(invalid.json()).toMatchObject({ code: "plugin_failed" });
    expect(provider.requestCount).toBe(1);
  });

  test("rate_limiter counts the user of a large body", async () => {
    const limits = { per_user: { limit: 1, window: "1m" } };
    const { path } = await seedRoute(gatehouse, {
      gateway: { required_plugins: [{ ...RATE_LIMITER, settings: { limits } }] },
      upstream: { targets: [targetAt(provider)] },
    });
    const send = async (user: string) =>
      (await rawJson(gatehouse.proxyUrl, path, { ...chatOf(LARGE), user })).status;
    expect([await send("ada"), await send("bob"), await send("ada")]).toEqual([200, 200, 429]);
  });
});

test("a provider that responds before it has read the body gets the rest of it unchanged", async () => {
  const chunks: Buffer[] = [];
  const received = () => Buffer.concat(chunks).toString("latin1");
  const read = Promise.withResolvers<() => void>();
  const listener = Bun.listen({
    hostname: "127.0.0.1",
    port: 0,
    socket: {
      data(socket, bytes) {
        if (chunks.length === 0) {
          socket.pause();
          const event = "data: {}\n\n";
          const head =
            "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";
          socket.write(`${head}${event.length.toString(16)}\r\n${event}\r\n`);
          read.resolve(() => socket.resume());
        }
        chunks.push(Buffer.from(bytes));
      },
    },
  });
  const target = { provider: "openai", base_url: `http://127.0.0.1:${listener.port}` };
  const { path } = await seedRoute(gatehouse, { upstream: { targets: [target] } });
  const body = JSON.stringify({ ...CHAT, stream: true, padding: "0123456789".repeat(950_000) });
  const client = new AbortController();
  const response = await fetch(gatehouse.proxyUrl + path, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body,
    signal: client.signal,
  });
  expect(response.status).toBe(200);
  // Bodies of other requests must not take its memory either.
  for (let count = 0; count < 5; count++)
    await rawJson(
      gatehouse.proxyUrl,
      (await seedRoute(gatehouse, { upstream: { targets: [targetAt(provider)] } })).path,
      chatOf(LARGE),
    );
  (await read.promise)();
  await waitUntil(() => received().length >= body.length);
  expect(received().endsWith(body.slice(-9_000_000))).toBe(true);
  // Used here, because Bun disconnects a client whose response was collected as garbage.
  expect(response.bodyUsed).toBe(false);
  client.abort();
  listener.stop(true);
});
