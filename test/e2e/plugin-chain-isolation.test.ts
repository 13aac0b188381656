// Plugins over real HTTP: notes, and contexts that can be changed only through their methods.
import { describe, expect, test } from "bun:test";
import { rmSync } from "node:fs";
import { startGatehouseProcess } from "../support/gatehouse-process.ts";
import { pluginsDirectory, postChat, scripted, seedPlugins, type Stage } from "../support/plugin-fixtures.ts";
import { usePluginHarness } from "../support/plugin-harness.ts";
import { CHAT } from "../support/proxy-fixtures.ts";

const harness = usePluginHarness();

describe("notes", () => {
  test("are kept from stage to stage, separately for each plugin and request", async () => {
    const source = (name: string) => `
      import { definePlugin, z } from "gatehouse/sdk";
      const stages = ["pre_request", "post_request"] as const;
      export default definePlugin({ name: "${name}", description: "", stages, settings: z.object({}), create: () => ({
        pre_request(context) { context.notes.set("seen", context.headers.get("x-mark") + "-${name}"); },
        post_request(context) { context.setHeader("x-${name}", String(context.notes.get("seen"))); },
      }) });`;
    const own = pluginsDirectory({ "left.ts": source("left"), "right.ts": source("right") });
    const other = await startGatehouseProcess({ env: { PLUGINS_DIR: own } });
    try {
      const plugins = ["left", "right"].flatMap((name) => [
        { name, stage: "pre_request" },
        { name, stage: "post_request" },
      ]);
      const route = await seedPlugins(other, harness.provider, plugins);
      const marks = ["a", "b", "c", "d"];
      harness.provider.behave({ delayMs: 20 });
      const responses = await Promise.all(
        marks.map((mark) => postChat(other, route, { headers: { "X-Mark": mark } })),
      );
      expect(responses.map(({ headers }) => [headers.get("x-left"), headers.get("x-right")])).toEqual(
        marks.map((mark) => [`${mark}-left`, `${mark}-right`]),
      );
    } finally {
      await other.stop();
      rmSync(own, { recursive: true, force: true });
    }
  }, 60_000);
});

describe("contexts are read-only except through their methods", () => {
  /** Each tries to change something without the methods for it. It may throw or do nothing. */
  const ATTEMPTS: readonly (readonly [stage: Stage, code: string])[] = [
    ["pre_request", `context.path = "/evil"`],
    ["pre_request", `context.query = "?evil"`],
    ["pre_request", `context.body = new Uint8Array(3)`],
    ["pre_request", `context.json = {}`],
    ["pre_request", `context.headers.set("x-evil", "1")`],
    ["pre_request", `context.forwardedHeaders.set("x-evil", "1")`],
    ["pre_request", `context.headers.delete("content-type")`],
    ["pre_request", `context.answered = { status: 418 }`],
    ["pre_request", `context.exchange.sentPath = "/evil"`],
    ["pre_request", `context.exchange.request.headers.set("x-evil", "1")`],
    ["pre_request", `context.gateway.id = "evil"; context.rule.path = "/evil"; context.requestId = "evil"`],
    ["post_request", `context.status = 418`],
    ["post_request", `context.headers.set("x-evil", "1")`],
    ["post_request", `context.headers.append("x-evil", "1")`],
    ["pre_response", `context.chunk = "evil"`],
    ["pre_response", `context.text = "evil"`],
    ["post_response", `context.status = 418; context.outcome = "failed"`],
  ];

  test.each(ATTEMPTS)("%s: %s", async (stage, code) => {
    const plain = await (await harness.call([])).text();
    const sentPlain = { ...harness.sentRequest };
    harness.provider.reset();
    const response = await harness.call([scripted(stage, `try { ${code} } catch {}`)]);
    const comparable = (text: string) => text.replaceAll(/"created":\d+/g, "");
    expect(response.status).toBe(200);
    expect(comparable(await response.text())).toBe(comparable(plain));
    expect(response.headers.has("x-evil")).toBe(false);
    expect(response.headers.get("x-request-id")).not.toBe("evil");
    const sent = harness.sentRequest;
    expect(sent.target).toBe(sentPlain.target);
    expect(sent.header("x-evil")).toBeUndefined();
    expect(sent.header("content-type")).toBe("application/json");
    expect(sent.json()).toEqual(CHAT);
  });
});
