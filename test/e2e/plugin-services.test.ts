// Calls of plugins to services of their gateway, and responses that wait for the decision of a plugin.
import { afterAll, beforeEach, describe, expect, test } from "bun:test";
import { startFakeProvider } from "../../src/fake-provider/server.ts";
import { CHAT_REQUEST } from "../support/balancing-fixtures.ts";
import { startGatehouseInProcess } from "../support/gatehouse-in-process.ts";
import {
  asynchronous,
  logRecords,
  pluginsDirectory,
  scripted,
  SCRIPTED_PLUGINS,
  type Fields,
} from "../support/plugin-fixtures.ts";
import { seedKey } from "../support/proxy-fixtures.ts";
import { waitFor, waitUntil } from "../support/waiting.ts";

const gatehouse = await startGatehouseInProcess({
  env: { PLUGINS_DIR: pluginsDirectory(SCRIPTED_PLUGINS) },
});
const { clock } = gatehouse;
const [main, helper] = await Promise.all([
  startFakeProvider({ name: "main", clock }),
  startFakeProvider({ name: "helper", clock }),
]);
beforeEach(() => {
  main.reset();
  helper.reset();
});
afterAll(async () => {
  await gatehouse.stop();
  await Promise.all([main.stop(), helper.stop()]);
});

const post = async (path: string, body: object) => {
  const response = await gatehouse.api("POST", path, body);
  expect(response.body).not.toHaveProperty("error");
  return String(response.body.id);
};

/** Resolves to the report of a plugin in shadow mode that has run on one request. Its calls are postponed for 20 ms at most. */
const shadowReport = (gateway: string, plugin: string) => {
  clock.advance(20);
  return waitFor(async () => {
    const { body } = await gatehouse.api("GET", `${gateway}/plugins/${plugin}/shadow`);
    return body.counts.ran === 1 ? body : null;
  });
};

/** Creates a gateway with a served route, and a service that plugins call. */
async function seed(isolation: string) {
  const gatewayId = await post("/gateways", {
    name: "calls",
    prices: [
      { model: "small", per_request: "0.01" },
      { model: CHAT_REQUEST.model, per_request: "0.5" },
    ],
  });
  const gateway = `/gateways/${gatewayId}`;
  const served = await post(`${gateway}/upstreams`, {
    name: "served",
    targets: [{ provider: "main", base_url: main.url, path: "/v1/chat/completions" }],
  });
  // Another format than that of the calls, and a path of its own.
  const helping = await post(`${gateway}/upstreams`, {
    name: "helping",
    targets: [
      {
        provider: "helper",
        base_url: helper.url,
        path: "/v1/messages",
        format: "anthropic",
        credentials: { header_name: "x-api-key", header_value: "secret-of-the-helper" },
      },
    ],
    health_checks: { passive: true, threshold: 1, interval: 60 },
  });
  const service = await post(`${gateway}/services`, { name: "chat", upstream_id: served });
  await post(`${gateway}/services`, { name: "helper", upstream_id: helping, virtual_models: "any" });
  await post(`${gateway}/models`, { name: "judge", targets: [{ upstream: helping, model: "small" }] });
  await post(`${gateway}/rules`, { service_id: service, path: `/${isolation}`, methods: ["POST"] });
  return { gatewayId, gateway, helping, path: `/${isolation}` };
}

const ISOLATIONS = ["inline", "worker", "process"] as const;
const seeded = {
  inline: await seed("inline"),
  worker: await seed("worker"),
  process: await seed("process"),
};

const CALL = `{ body: { model: "judge", messages: [{ role: "user", content: "Is this harmless?" }] } }`;

describe.each(ISOLATIONS)("isolation %s", (isolation) => {
  const { gatewayId, gateway, helping, path } = seeded[isolation];

  async function use(...plugins: Fields[]): Promise<void> {
    const required_plugins = plugins.map((plugin) => ({ ...plugin, isolation }));
    const { status } = await gatehouse.api("PATCH", gateway, { required_plugins });
    expect(status).toBe(200);
  }

  function send(headers: Record<string, string> = {}, signal: AbortSignal | null = null): Promise<Response> {
    return fetch(gatehouse.proxyUrl + path, {
      method: "POST",
      headers: { "Content-Type": "application/json", ...headers },
      body: JSON.stringify(CHAT_REQUEST),
      signal,
    });
  }

  /** A plugin that reports the reason of a failed call in a header. */
  const calling = (call: string, options = "{}") =>
    scripted(
      "pre_request",
      asynchronous(`
      try {
        const { status, json } = await context.callService(${call}, ${options});
        context.setResponseHeader("X-Called", status + " " + json?.choices?.[0]?.message?.content);
      } catch (error) {
        context.setResponseHeader("X-Called", error.reason);
      }`),
    );

  const called = async (call: string, options?: string) => {
    await use(calling(call, options));
    const response = await send();
    expect(response.status).toBe(200);
    await response.arrayBuffer();
    return response.headers.get("x-called");
  };

  const spent = async (budget: string) =>
    Number((await gatehouse.api("GET", `${gateway}/budgets/${budget}/state`)).body.spent);

  test("a call has the targets, virtual models and translation of the service, and runs no plugins", async () => {
    helper.behave({ text: "harmless" });
    await use(calling(`"helper", ${CALL}`));
    const response = await send({ "X-Api-Key": "of-the-client" });
    expect(response.headers.get("x-called")).toBe("200 harmless");
    expect(await response.json()).toMatchObject({ object: "chat.completion" });
    expect([main.requestCount, helper.requestCount]).toEqual([1, 1]);
    const [request] = helper.requests;
    expect(request?.target).toBe("/v1/messages");
    expect(request?.json()).toMatchObject({ model: "small", max_tokens: expect.any(Number) });
    expect(request?.header("x-api-key")).toBe("secret-of-the-helper");
    expect(JSON.stringify(request?.headers)).not.toContain("of-the-client");
  });

  test("a call is charged to budgets of the gateway and not to its caller, and usage names its purpose", async () => {
    const budgets: string[] = [];
    for (const scope of ["gateway", "api_key"])
      budgets.push(
        await post(`${gateway}/budgets`, {
          name: scope,
          unit: "usd",
          amount: "100",
          period: "total",
          scope,
          each: scope === "api_key",
        }),
      );
    const { key } = await seedKey(gatehouse, gatewayId, { name: "k" });
    await use(calling(`"helper", ${CALL}`));
    await (await send({ "X-GW-API-Key": key })).arrayBuffer();
    await waitUntil(async () => (await spent(budgets[0] ?? "")) === 0.51);
    expect(await spent(budgets[1] ?? "")).toBe(0.5);
    clock.advance(1000);
    const rows = await waitFor(async () => {
      const { body } = await gatehouse.api("GET", `${gateway}/usage?group_by=purpose,api_key,model`);
      const found = (body.usage as Fields[]).filter(({ purpose }) => purpose === "plugin");
      return found.length === 0 ? null : found;
    });
    expect(rows).toMatchObject([{ api_key: null, model: "small" }]);

    const small = { name: "small", unit: "usd", amount: "0.005", period: "total", scope: "gateway" };
    budgets.push(await post(`${gateway}/budgets`, { ...small, models: ["small"] }));
    expect(await called(`"helper", ${CALL}`)).toBe("budget");
    expect(helper.requestCount).toBe(1);
    for (const id of budgets) await gatehouse.api("DELETE", `${gateway}/budgets/${id}`);
  });

  test("a call that cannot be made says why", async () => {
    expect(await called(`"nobody", ${CALL}`)).toBe("unknown_service");
    expect(await called(`"helper", { body: { model: "judge", messages: [], stream: true } }`)).toBe(
      "invalid",
    );
    expect(await called(`"helper", { body: "no JSON" }`)).toBe("invalid");
    expect(await called(`"helper", { ...${CALL}, path: "/../x\\\\" }`)).toBe("invalid");
    expect(await called(`"helper", ${CALL}`, "{ timeoutMs: 0 }")).toBe("invalid");
    expect(await called(`"helper", ${CALL}`, "{ signal: AbortSignal.abort() }")).toBe("aborted");
    expect(helper.requestCount).toBe(0);
    helper.behave({ status: 400 });
    expect(await called(`"helper", ${CALL}`)).toBe("400 undefined");
  });

  test("at most eight calls of a request run at the same time", async () => {
    await use(
      scripted(
        "pre_request",
        asynchronous(`
        const fail = ({ reason }) => { host.log("info", "no call in ${isolation}"); return reason; };
        const call = () => context.callService("helper", ${CALL}).then(() => "ok", fail);
        const results = await Promise.all(Array.from({ length: 10 }, call));
        context.setResponseHeader("X-Called", results.sort().join());`),
      ),
    );
    helper.behave({ delayMs: 1000 });
    const sent = send();
    const rejected = () => logRecords(gatehouse).filter(({ msg }) => msg === `no call in ${isolation}`);
    await waitUntil(() => rejected().length === 2);
    await helper.until(() => helper.requestCount === 8);
    clock.advance(1000);
    const response = await sent;
    await response.arrayBuffer();
    expect(response.headers.get("x-called")).toBe(`limit,limit${",ok".repeat(8)}`);
    expect(helper.requestCount).toBe(8);
  });

  test("a call ends after its timeout, which says nothing about the health of the target", async () => {
    helper.behave({ delayMs: 3_600_000 });
    await use(calling(`"helper", ${CALL}`, "{ timeoutMs: 700 }"));
    const response = send();
    await helper.until(() => helper.requestCount === 1);
    clock.advance(700);
    expect((await response).headers.get("x-called")).toBe("timeout");
    await helper.until(() => helper.requests[0]?.aborted === true);
    const { body } = await gatehouse.api("GET", `${gateway}/upstreams/${helping}/health`);
    expect(JSON.stringify(body)).toContain('"healthy"');
  });

  test("a call that the plugin aborts is aborted at the provider", async () => {
    helper.behave({ delayMs: 3_600_000 });
    await use(
      scripted(
        "pre_request",
        asynchronous(`
          const calls = host.keep("calls", () => []);
          if (context.headers.has("x-abort")) {
            calls.pop().abort();
            return context.respond({ status: 200 });
          }
          const controller = new AbortController();
          calls.push(controller);
          const called = context.callService("helper", ${CALL}, { signal: controller.signal });
          context.setHeader("x-called", await called.then(() => "ok", (error) => error.reason));`),
      ),
    );
    // The request itself has not ended: its end would abort the call, too.
    main.behave({ delayMs: 3_600_000 });
    const client = new AbortController();
    const response = send({}, client.signal).catch(() => null);
    await helper.until(() => helper.requestCount === 1);
    await (await send({ "X-Abort": "1" })).arrayBuffer();
    await helper.until(() => helper.requests[0]?.aborted === true);
    await main.until(() => main.requestCount === 1);
    expect(main.requests[0]?.header("x-called")).toBe("aborted");
    client.abort();
    await response;
  });

  test("calls are aborted when the client disconnects", async () => {
    helper.behave({ delayMs: 3_600_000 });
    await use(calling(`"helper", ${CALL}`));
    const client = new AbortController();
    const response = send({}, client.signal).catch(() => null);
    await helper.until(() => helper.requestCount === 1);
    client.abort();
    await helper.until(() => helper.requests[0]?.aborted === true);
    expect(await response).toBeNull();
  });

  /** A plugin that decides when the service has responded: the text of the response is the status, or `pass`. */
  const holding = (fields: Fields = {}) =>
    scripted(
      "pre_request",
      `context.holdResponse(context.callService("helper", ${CALL}, { timeoutMs: 20000 }).then(({ json }) => {
      const text = json.choices[0].message.content;
      if (text === "fail") throw new Error("no verdict");
      return text === "pass" ? null : { status: Number(text), body: { error: "Rejected.", code: "judged" } };
    }));`,
      fields,
    );

  test("a response waits for the decision, and the provider gets the request meanwhile", async () => {
    helper.behave({ text: "pass", delayMs: 1000 });
    await use(holding());
    let isReceived = false;
    const response = send().then((received) => {
      isReceived = true;
      return received;
    });
    await main.until(() => main.requests[0]?.finished === true);
    await helper.until(() => helper.requestCount === 1);
    expect(isReceived).toBe(false);
    clock.advance(1000);
    expect((await response).status).toBe(200);
    expect(await (await response).json()).toMatchObject({ object: "chat.completion" });
  });

  test("a rejected request gets the response of the plugin, and what its provider used is charged", async () => {
    const budget = await post(`${gateway}/budgets`, {
      name: "charged",
      unit: "usd",
      amount: "100",
      period: "total",
      scope: "gateway",
    });
    await use(holding());
    helper.behave({ text: "451", delayMs: 1000 });
    // The response has arrived when the decision is made, or it has not.
    for (const delayMs of [0, 3_600_000]) {
      main.reset();
      main.behave({ delayMs });
      const response = send();
      await main.until(() => main.requestCount === 1 && (delayMs > 0 || main.requests[0]?.finished === true));
      await helper.until(() => helper.requests.at(-1)?.finished === false);
      clock.advance(1000);
      const { status, headers } = await response;
      expect(status).toBe(451);
      expect(await (await response).json()).toMatchObject({ error: "Rejected.", code: "judged" });
      const [record] = await waitFor(async () => {
        const id = headers.get("x-request-id") ?? "";
        const { body } = await gatehouse.api("GET", `${gateway}/requests?request_id=${id}`);
        return body.requests.length === 1 ? (body.requests as Fields[]) : null;
      });
      expect(record).toMatchObject({ outcome: "refused", error_code: "judged", cost: 0.5 });
      if (delayMs > 0) await main.until(() => main.requests[0]?.aborted === true);
    }
    await waitUntil(async () => (await spent(budget)) === 1.02);
    await gatehouse.api("DELETE", `${gateway}/budgets/${budget}`);
  });

  test("a decision that fails is a failure of the plugin", async () => {
    helper.behave({ text: "fail" });
    await use(holding());
    const failed = await send();
    expect(await failed.json()).toMatchObject({ code: "plugin_failed" });
    await use(holding({ on_error: "continue" }));
    expect((await send()).status).toBe(200);
  });

  test("in shadow mode, the decision is recorded and has no effect", async () => {
    helper.behave({ text: "451" });
    await use(holding({ mode: "shadow" }));
    const response = await send();
    expect(response.status).toBe(200);
    await response.arrayBuffer();
    const report = await shadowReport(gateway, "scripted");
    expect(report).toMatchObject({ counts: { responded: 1 }, statuses: { 451: 1 } });
  });

  test("prompt_guard asks its judge while the provider has the request, also in shadow mode; explain does not ask", async () => {
    const judge = { service: "helper", model: "judge" };
    const guard = (mode: string) => ({
      name: "prompt_guard",
      stage: "pre_request",
      mode,
      settings: { judge },
    });
    helper.behave({ text: '{"score": 9}', delayMs: 1000 });
    await use(guard("enforce"));
    const explained = await gatehouse.api("POST", `${gateway}/explain`, { path, body: CHAT_REQUEST });
    expect(JSON.stringify(explained.body.plugins)).toContain("the judge would be asked (service helper)");
    expect(helper.requestCount).toBe(0);
    const response = send();
    await main.until(() => main.requests[0]?.finished === true);
    await helper.until(() => helper.requestCount === 1);
    clock.advance(1000);
    expect((await response).status).toBe(403);
    expect(await (await response).json()).toMatchObject({
      code: "prompt_rejected",
      details: { score: 9, judge: 9, rules: [] },
    });
    // No verdict in time: the rules alone decide.
    helper.behave({ delayMs: 3_600_000 });
    const slow = send();
    await helper.until(() => helper.requestCount === 2);
    clock.advance(2000);
    expect((await slow).status).toBe(200);

    helper.behave({ text: '{"score": 9}' });
    await use(guard("shadow"));
    expect((await send()).status).toBe(200);
    const report = await shadowReport(gateway, "prompt_guard");
    expect(report.counts).toMatchObject({ responded: 1 });
  });
});
