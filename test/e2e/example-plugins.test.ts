// The example plugins in a running gateway, with the external services that they need over real HTTP.
import { afterAll, beforeEach, expect, setDefaultTimeout, test } from "bun:test";
import { cpSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { create } from "../support/admin-fixtures.ts";
import { postChat, seedPlugins, type Fields } from "../support/plugin-fixtures.ts";
import { onlyRequest, targetAt } from "../support/proxy-fixtures.ts";
import { useFakeProvider, useGatehouseProcess } from "../support/use-gatehouse.ts";
import { waitUntil } from "../support/waiting.ts";

setDefaultTimeout(60_000);

const EXAMPLES = join(import.meta.dir, "../../plugins/examples");
const directory = mkdtempSync(join(tmpdir(), "gatehouse-plugins-"));
for (const file of readdirSync(EXAMPLES)) cpSync(join(EXAMPLES, file), join(directory, file));
afterAll(() => rmSync(directory, { recursive: true, force: true }));

const received: { readonly url: URL; readonly body: string }[] = [];
let respond: () => Response | Promise<Response> = () => new Response("acme");
const service = Bun.serve({
  port: 0,
  hostname: "127.0.0.1",
  async fetch(request) {
    received.push({ url: new URL(request.url), body: await request.text() });
    return respond();
  },
});
afterAll(() => service.stop(true));
beforeEach(() => void (received.length = 0));

const [gatehouse, provider, translator] = await Promise.all([
  useGatehouseProcess({ env: { PLUGINS_DIR: directory } }),
  useFakeProvider(),
  useFakeProvider(),
]);

const entry = (name: string, stage: string, settings: Fields): Fields => ({ name, stage, settings });

test("every example is loaded, and its tests are not", async () => {
  const { body } = await gatehouse.api("GET", "/plugins");
  const custom = body.plugins.filter(({ builtin }: { builtin: boolean }) => !builtin);
  const files = readdirSync(EXAMPLES).filter((file) => !file.endsWith(".test.ts"));
  expect(custom.map(({ name }: { name: string }) => name).sort()).toEqual(
    files.map((file) => file.replace(".ts", "").replaceAll("-", "_")).sort(),
  );
});

test("lookup_header adds the value of the service, and forwards the request without it if the service is too slow", async () => {
  const seed = async (timeout_ms: number) => {
    const plugins = [entry("lookup_header", "pre_request", { url: service.url.href, timeout_ms })];
    const route = await seedPlugins(gatehouse, provider, plugins);
    const { id, key } = await create(gatehouse, "/iam/api-keys", {
      name: "app",
      subject_type: "gateway",
      subject: route.gateway,
      policies: [route.rule],
      expires_at: "2035-01-01T00:00:00Z",
    });
    const send = async () => {
      provider.reset();
      const headers = { Authorization: `Bearer ${key}`, "X-Tenant": "forged" };
      const response = await postChat(gatehouse, route, { headers });
      await response.text();
      return [response.status, onlyRequest(provider).header("x-tenant") ?? null];
    };
    return { id, send };
  };
  const [fast, slow] = [await seed(4000), await seed(50)];
  expect([await fast.send(), await fast.send()]).toEqual([
    [200, "acme"],
    [200, "acme"],
  ]);
  expect(received.map(({ url }) => url.searchParams.get("key"))).toEqual([fast.id]);
  respond = () => new Promise(() => undefined);
  expect(await slow.send()).toEqual([200, null]);
});

test("translate_prompt translates with a service of the gateway, which runs no plugins itself", async () => {
  const settings = { service: "translation", model: "small", timeout_ms: 4500 };
  const route = await seedPlugins(gatehouse, provider, [entry("translate_prompt", "pre_request", settings)]);
  const at = `/gateways/${route.gateway}`;
  const target = targetAt(translator);
  const { id } = await create(gatehouse, `${at}/upstreams`, { name: "translation", targets: [target] });
  await create(gatehouse, `${at}/services`, { name: "translation", upstream_id: id });
  const translated = JSON.stringify({ language: "German", text: "Good morning" });
  translator.behave({ text: translated });
  const body = { model: "m", messages: [{ role: "user", content: "Guten Morgen" }] };
  const response = await postChat(gatehouse, route, { body });
  await response.text();
  expect(response.status).toBe(200);
  expect(onlyRequest(translator).json()).toMatchObject({
    model: "small",
    messages: [{ role: "system" }, { role: "user", content: "Guten Morgen" }],
  });
  const sent = { ...body, messages: [{ role: "user", content: "Good morning" }] };
  expect(onlyRequest(provider).json()).toEqual(sent);

  // Without the service, the message is sent as it is.
  await translator.stop();
  provider.reset();
  expect((await postChat(gatehouse, route, { body })).status).toBe(200);
  expect(onlyRequest(provider).json()).toEqual(body);
});

// The last test: it stops the gateway.
test("webhook_log sends full batches while the gateway runs, and the rest when it stops", async () => {
  respond = () => new Response(null, { status: 204 });
  const settings = { url: service.url.href, batch_size: 2, interval_ms: 60_000 };
  const route = await seedPlugins(gatehouse, provider, [entry("webhook_log", "post_response", settings)]);
  for (const id of ["one", "two", "three"])
    await (await postChat(gatehouse, route, { headers: { "x-request-id": id } })).text();
  await waitUntil(() => received.length === 1);
  gatehouse.signal("SIGTERM");
  expect(await gatehouse.exited).toBe(0);
  const batches = received.map(({ body }) => JSON.parse(body));
  expect(batches.map((batch) => batch.map(({ request_id }: { request_id: string }) => request_id))).toEqual([
    ["one", "two"],
    ["three"],
  ]);
  expect(batches[0][0]).toMatchObject({ status: 200, outcome: "complete", input_tokens: expect.any(Number) });
});
