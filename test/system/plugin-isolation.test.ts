// Plugins with isolation worker and process: hooks see and change the same as inline ones, and a crash affects their own calls only.
import { describe, expect, test } from "bun:test";
import { existsSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { startGatehouseProcess } from "../support/gatehouse-process.ts";
import {
  asynchronous,
  limiter,
  logged,
  logRecords,
  pluginsDirectory,
  scripted,
  scriptedWhole,
  seedPlugins,
  type Fields,
} from "../support/plugin-fixtures.ts";
import { expectFailed, usePluginHarnessOf } from "../support/plugin-harness.ts";
import { CHAT, seedRoute, targetAt } from "../support/proxy-fixtures.ts";
import { waitUntil } from "../support/waiting.ts";

const MASKING = `
  import { definePlugin, z } from "gatehouse/sdk";
  export default definePlugin({
    name: "shouting",
    description: "Writes the text of responses in capital letters.",
    stages: ["pre_response"],
    needs: ["text"],
    settings: z.strictObject({ words: z.array(z.string()).transform((words) => new Set(words)) }),
    create({ words }) {
      return { response_text(context) { if (words.has("all")) context.release(context.text.length, context.text.toUpperCase()); } };
    },
  });`;
const BROKEN = `
  import { definePlugin, z } from "gatehouse/sdk";
  export default definePlugin({
    name: "broken",
    description: "Cannot be created.",
    stages: ["pre_request"],
    settings: z.strictObject({ how: z.enum(["throw", "exit", "responses"]) }),
    create({ how }, host) {
      if (how === "throw") throw new Error("the list is missing");
      if (how === "responses") host.openResponses({ maxBytes: 1, maxEntryBytes: 1 });
      process.exit(7);
    },
  });`;

const STOPPING = `
  import { definePlugin, z } from "gatehouse/sdk";
  import { writeFileSync } from "node:fs";
  export default definePlugin({
    name: "stopping",
    description: "Writes a file when it stops, and fails then if its file is in no folder.",
    stages: ["pre_request"],
    settings: z.strictObject({ file: z.string() }),
    create({ file }) {
      return {
        pre_request(context) { context.respond({ status: 200, body: { pid: process.pid } }); },
        async stop() { await new Promise((resolve) => setTimeout(resolve, 20)); writeFileSync(file, "stopped"); },
      };
    },
  });`;

const harness = usePluginHarnessOf(startGatehouseProcess, { "shouting.ts": MASKING, "broken.ts": BROKEN });

/** The nice value in the file `stat` of a process or thread. */
function niceOf(stat: string): number {
  return Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[16]);
}

/** Creates a gateway with this plugin and expects that it is rejected. */
async function rejection(plugin: Fields): Promise<string> {
  const created = await harness.gatehouse.api("POST", "/gateways", {
    name: "rejected",
    required_plugins: [plugin],
  });
  expect(created.status).toBe(400);
  return JSON.stringify(created.body);
}

describe.each(["worker", "process"] as const)("isolation %s", (isolation) => {
  test("pre_request reads and changes the request", async () => {
    const code = asynchronous(`
      await 1;
      const { json, bodyText, method, gateway, apiKey, userKey } = context;
      context.setHeader("x-seen", [method, json.model, bodyText.length > 10, apiKey === null, userKey !== "",
        context.headers.get("X-Mine"), context.forwardedHeaders.get("content-type"), context.apiKeyLabel("team")].join());
      context.setHeader("x-gone", "1");
      context.removeHeader("x-gone");
      context.replaceBody(JSON.stringify({ ...json, user: gateway.name }));
      context.setQuery("a=" + context.bodySize + context.json.user.length);
      context.setResponseHeader("X-Length", String(context.bodyText.length));
      context.reportLimit({ name: "words", limit: 9, remaining: 4, resetAt: 1800000000 });
      context.setDetail("done in isolation");`);
    const response = await harness.call([scripted("pre_request", code, { isolation })], {
      headers: { "X-Mine": "yes" },
    });
    expect(response.status).toBe(200);
    const sent = harness.sentRequest;
    expect(sent.header("x-seen")).toBe(`POST,${CHAT.model},true,true,true,yes,application/json,`);
    expect(sent.header("x-gone")).toBeUndefined();
    expect(sent.json()).toMatchObject({ model: CHAT.model, user: expect.any(String) });
    expect(response.headers.get("x-length")).toBe(String(sent.body.length));
    const limit = ["limit", "remaining", "reset"].map((end) =>
      response.headers.get(`x-ratelimit-words-${end}`),
    );
    expect(limit).toEqual(["9", "4", "1800000000"]);
  });

  test("a hook responds, with bytes and with JSON", async () => {
    const route = await harness.seed([
      scripted(
        "pre_request",
        `if (context.headers.has("x-bytes")) context.respond({ status: 202, body: new Uint8Array([104, 105]) });
         else context.respond({ status: 201, headers: { "X-Why": "json" }, body: { blob: 0 } });`,
        { isolation },
      ),
    ]);
    const json = await harness.post(route);
    expect([json.status, json.headers.get("x-why"), await json.json()]).toEqual([201, "json", { blob: 0 }]);
    const bytes = await harness.post(route, { headers: { "x-bytes": "1" } });
    expect([bytes.status, await bytes.text()]).toEqual([202, "hi"]);
  });

  test("hooks of the response change it, and notes go from stage to stage", async () => {
    const keep = `context.notes.set("word", { say: () => "kept" });`;
    const header = `context.setHeader("X-Word", context.notes.get("word").say()); context.setStatus(203);`;
    const chunk = `context.replaceChunk(context.text.replaceAll("}", "} "));`;
    const end = `host.log("info", "isolated end", { word: context.notes.get("word").say(), outcome: context.outcome });`;
    const response = await harness.call([
      scripted("pre_request", keep, { isolation }),
      scripted("post_request", header, { isolation }),
      scriptedWhole("pre_response", chunk, { isolation }),
      scripted("post_response", end, { isolation }),
    ]);
    expect([response.status, response.headers.get("x-word")]).toEqual([203, "kept"]);
    expect(await response.text()).toContain("} ");
    await logged(harness.gatehouse, "isolated end", { word: "kept", outcome: "complete" });
  });

  test("the text of responses is replaced, and settings are parsed in the isolate", async () => {
    const settings = { words: ["all"] };
    const plugin = { name: "shouting", stage: "pre_response", settings, isolation };
    const body = (await (await harness.call([plugin])).json()) as {
      choices: { message: { content: string } }[];
    };
    const content = body.choices[0]?.message.content ?? "";
    expect(content).toBe(content.toUpperCase());
    expect(content).not.toBe("");
  });

  test("the host counts, blocks and remembers for the plugin", async () => {
    const code = asynchronous(`
      const limit = { key: host.instanceId + ":all", limit: 1, windowMs: 60000 };
      const { admitted } = await host.counters.admit([limit], "local");
      const before = host.blocks.has("kind", "me");
      const added = host.blocks.add({ type: "kind", subject: "me" }, "key");
      const known = host.counters.knownRejection([limit]) !== null;
      const kept = host.keep("list", () => []).push(1);
      context.respond({ status: 200, body: [admitted, before, added, host.blocks.has("kind", "me"), known, kept] });`);
    const route = await harness.seed([scripted("pre_request", code, { isolation })]);
    expect(await (await harness.post(route)).json()).toEqual([true, false, true, true, true, 1]);
    expect(await (await harness.post(route)).json()).toEqual([false, true, true, true, true, 2]);
  });

  test("a hook that throws, and one that sets a wrong value, fail as they do inline", async () => {
    await expectFailed(await harness.call([scripted("pre_request", "throw new Error('no')", { isolation })]));
    await logged(harness.gatehouse, "plugin failed", { plugin: "scripted" });
    const wrong = `context.setHeader("x", "1"); context.setHeader("bad name", "1")`;
    await expectFailed(await harness.call([scripted("pre_request", wrong, { isolation })]));
    const lenient = scripted("pre_request", `context.setHeader("x-a", "1"); throw 1`, {
      isolation,
      on_error: "continue",
    });
    expect((await harness.call([lenient])).status).toBe(200);
    expect(harness.sentRequest.header("x-a")).toBeUndefined();
  });

  test("an exit is repeated once and fails its request; the plugin is restarted and reported", async () => {
    const code = `if (context.headers.has("x-exit")) process.exit(3); context.setResponseHeader("X-Ran", "1");`;
    const route = await harness.seed([scripted("pre_request", code, { isolation })]);
    const other = await harness.seed([scripted("pre_request", code, { isolation })]);
    expect((await harness.post(route)).headers.get("x-ran")).toBe("1");
    const failed = await harness.post(route, { headers: { "x-exit": "1" } });
    expect([failed.status, ((await failed.json()) as Fields)["code"]]).toEqual([503, "plugin_quarantined"]);
    await logged(harness.gatehouse, "isolated plugin crashed", { plugin: "scripted", isolation });
    expect((await harness.post(other)).headers.get("x-ran")).toBe("1");
    await waitUntil(async () => (await harness.post(route)).headers.get("x-ran") === "1");
    const metrics = await (await fetch(`${harness.gatehouse.adminUrl}/metrics`)).text();
    const series = `gatehouse_plugin_restarts_total{plugin="scripted",isolation="${isolation}"} `;
    const counted = metrics.split("\n").filter((line) => line.startsWith(series));
    expect(counted.map((line) => Number(line.slice(series.length)) > 0)).toEqual([true]);
  });

  test.skipIf(process.platform !== "linux")("runs at a lower priority than the gateway", async () => {
    const code = `context.respond({ status: 200, body: process.getBuiltinModule("node:fs").readFileSync("/proc/thread-self/stat", "utf8") });`;
    const response = await harness.call([scripted("pre_request", code, { isolation })]);
    const gateway = niceOf(readFileSync(`/proc/${harness.gatehouse.pid}/stat`, "utf8"));
    expect(niceOf(await response.text())).toBe(Math.min(19, gateway + 5));
  });

  test("explain runs the hook in the isolate and names the isolation", async () => {
    const plugin = {
      name: "code_sanitation",
      stage: "pre_request",
      settings: {
        languages: [{ language: "sql", enabled: true }],
        content_to_check: ["body"],
        action: "block",
      },
      isolation,
    };
    const route = await seedRoute(harness.gatehouse, {
      gateway: { required_plugins: [plugin] },
      upstream: { targets: [targetAt(harness.provider)] },
    });
    const explained = await harness.gatehouse.api("POST", `/gateways/${route.gateway}/explain`, {
      path: route.path,
      method: "POST",
      headers: { "content-type": "application/json" },
      body: CHAT,
    });
    expect(explained.body.plugins).toEqual([
      { name: "code_sanitation", stage: "pre_request", verdict: "passed", detail: null, isolation },
    ]);
  });

  test("a plugin that cannot run in isolation, or cannot be created, is rejected when it is written", async () => {
    expect(await rejection(limiter({ per_ip: [1, "1m"] }, {}, { isolation }))).toContain(
      "set isolation to inline",
    );
    const broken = (how: string) =>
      rejection({ name: "broken", stage: "pre_request", settings: { how }, isolation });
    expect(await broken("throw")).toContain("the list is missing");
    expect(await broken("responses")).toContain("host.openResponses is not available to isolated plugins");
    expect(await broken("exit")).toContain(
      isolation === "process" ? "exit code 7" : "the worker thread exited",
    );
  });
});

test("stop hooks of isolated plugins run when the gateway stops, and their failures are logged", async () => {
  const directory = pluginsDirectory({ "stopping.ts": STOPPING });
  const gatehouse = await startGatehouseProcess({ env: { PLUGINS_DIR: directory } });
  const files: string[] = [];
  try {
    for (const isolation of ["inline", "worker", "process"]) {
      const plugin = (file: string) => ({
        name: "stopping",
        stage: "pre_request",
        settings: { file },
        isolation,
      });
      files.push(join(directory, `${isolation}.txt`));
      await seedPlugins(gatehouse, harness.provider, [
        plugin(files.at(-1) ?? ""),
        plugin(join(directory, "missing", `${isolation}.txt`)),
      ]);
    }
    gatehouse.signal("SIGTERM");
    await gatehouse.exited;
  } finally {
    await gatehouse.stop();
  }
  expect(files.map((file) => existsSync(file))).toEqual([true, true, true]);
  const failed = logRecords(gatehouse).filter(({ msg }) => String(msg).startsWith("plugin failed to stop"));
  expect(failed.map(({ isolation, err }) => [isolation ?? "inline", err.message]).sort()).toEqual(
    ["inline", "process", "worker"].map((isolation) => [
      isolation,
      expect.stringContaining(`missing/${isolation}.txt`),
    ]),
  );
  rmSync(directory, { recursive: true, force: true });
});

test("a plugin without isolation leaves an unhandled rejection or an error in a timer: the gateway survives", async () => {
  const name = crypto.randomUUID();
  const floating =
    `Promise.reject(new Error("floating")); setTimeout(() => { throw new Error("in a timer") }, 1); ` +
    `setTimeout(() => host.log("info", "${name}"), 2)`;
  expect((await harness.call([scripted("pre_request", floating)])).status).toBe(200);
  await logged(harness.gatehouse, name);
  expect((await harness.call([])).status).toBe(200);
});

test("a signal to all processes of the gateway does not end a plugin process that still serves requests", async () => {
  const code = `context.respond({ status: 200, body: { pid: process.pid } })`;
  const route = await harness.seed([scripted("pre_request", code, { isolation: "process" })]);
  const pidOf = async () => ((await (await harness.post(route)).json()) as { pid: number }).pid;
  const pid = await pidOf();
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP", "SIGUSR1", "SIGUSR2"] as const)
    process.kill(pid, signal);
  // The second response arrives after a process that the signals have ended would be replaced.
  expect([await pidOf(), await pidOf()]).toEqual([pid, pid]);
});

test("a process has no environment variables; a disabled entry starts none", async () => {
  const code = `context.respond({ status: 200, body: { env: Object.keys({ ...process.env }), pid: process.ppid, cwd: process.cwd() } })`;
  const response = await harness.call([scripted("pre_request", code, { isolation: "process" })]);
  expect(await response.json()).toEqual({ env: [], pid: harness.gatehouse.pid, cwd: "/" });
  const disabled = {
    name: "broken",
    stage: "pre_request",
    settings: { how: "exit" },
    isolation: "process",
    enabled: false,
  };
  expect((await harness.call([disabled])).status).toBe(200);
});
