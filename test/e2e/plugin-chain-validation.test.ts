// Plugin configurations that the Admin API rejects.
import { describe, expect, test } from "bun:test";
import { expectError, expectProblemsAt, onlyMessage } from "../support/admin-fixtures.ts";
import { scripted, type Fields } from "../support/plugin-fixtures.ts";
import { appendToTrail, usePluginHarness } from "../support/plugin-harness.ts";

/** Rejects settings by its schema, by an error in create(), or by invalid hooks. Supports pre_request only. */
const PICKY = `
  import { definePlugin, z } from "gatehouse/sdk";
  export default definePlugin({
    name: "picky",
    description: "Rejects most settings.",
    stages: ["pre_request"],
    settings: z.strictObject({
      mood: z.enum(["good", "bad"]).optional(),
      depth: z.object({ level: z.int().max(3, "must not be deeper than 3") }).optional(),
      hooks: z.string().optional(),
    }),
    create({ mood, hooks }) {
      if (mood === "bad") throw new Error("mood must not be bad");
      if (hooks === "none") return {};
      if (hooks === "null") return null as never;
      if (hooks === "late") return (async () => ({ pre_request() {} }))() as never;
      return { pre_request() {} };
    },
  });`;

const harness = usePluginHarness({ "picky.ts": PICKY });

describe("the Admin API rejects", () => {
  const create = (...required_plugins: Fields[]) =>
    harness.gatehouse.api("POST", "/gateways", { name: "rejected", required_plugins });

  test("an unknown plugin, and suggests the nearest name", async () => {
    const response = await create(scripted("pre_request", ""), { name: "rate_limitr", stage: "pre_request" });
    expectProblemsAt(response, "required_plugins[1].name");
    expect(onlyMessage(response)).toContain('did you mean "rate_limiter"?');
    expectProblemsAt(
      await create({ name: "nothing_like_it", stage: "pre_request" }),
      "required_plugins[0].name",
    );
  });

  test.each(["post_request", "pre_response", "post_response"])(
    "the stage %s for built-in plugins, which do not support it",
    async (stage) => {
      const limits = { global: { limit: 1, window: "1s" } };
      const languages = [{ language: "sql", enabled: true }];
      const sanitation = { languages, content_to_check: ["body"], action: "block" };
      const response = await create(
        { name: "rate_limiter", stage, settings: { limits } },
        { name: "code_sanitation", stage, settings: sanitation },
      );
      expectProblemsAt(response, "required_plugins[0].stage", "required_plugins[1].stage");
      for (const { message } of response.body.details) expect(message).toContain("pre_request");
    },
  );

  test("invalid settings, with the plugin's messages and their paths", async () => {
    const response = await create(
      { name: "picky", stage: "pre_request", settings: { depth: { level: 9 }, unknown_field: 1 } },
      { name: "picky", stage: "pre_request", settings: { mood: "sad" } },
    );
    expectError(response, 400, "validation_failed");
    const details = response.body.details as { path: string; message: string }[];
    expect(details.map(({ path }) => path).sort()).toEqual([
      "required_plugins[0].settings.depth.level",
      "required_plugins[0].settings.unknown_field",
      "required_plugins[1].settings.mood",
    ]);
    expect(details.find(({ path }) => path.endsWith("level"))?.message).toBe("must not be deeper than 3");
  });

  test("settings for which create() throws, with its message, also for a disabled plugin", async () => {
    for (const enabled of [true, false]) {
      const response = await create({
        name: "picky",
        stage: "pre_request",
        enabled,
        settings: { mood: "bad" },
      });
      expectProblemsAt(response, "required_plugins[0].settings");
      expect(onlyMessage(response)).toBe("mood must not be bad");
    }
  });

  test.each(["none", "null", "late"])("invalid hooks: %s", async (hooks) => {
    expectProblemsAt(
      await create({ name: "picky", stage: "pre_request", settings: { hooks } }),
      "required_plugins[0].settings",
    );
  });

  test.each(["rate_limiter", "token_limiter", "code_sanitation"])(
    "unknown settings of the built-in %s",
    async (name) => {
      const response = await create({ name, stage: "pre_request", settings: { unknown_field: 1 } });
      expectError(response, 400, "validation_failed");
      expect(response.body.details.map((each: { path: string }) => each.path)).toContain(
        "required_plugins[0].settings.unknown_field",
      );
    },
  );

  test("a change without applying any of it", async () => {
    const route = await harness.seed([scripted("pre_request", appendToTrail("kept"))]);
    const wrong = [
      scripted("pre_request", appendToTrail("new")),
      { name: "picky", stage: "pre_request", settings: { mood: "bad" } },
    ];
    const response = await harness.gatehouse.api("PATCH", `/gateways/${route.gateway}`, {
      required_plugins: wrong,
    });
    expect(response.status).toBe(400);
    expect((await harness.post(route)).headers.get("x-trail")).toBe("kept");
  });
});
