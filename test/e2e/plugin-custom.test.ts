// Custom plugins from PLUGINS_DIR: loading at start, loading and replacing while requests run, keeping the previous version
// if a new one fails, and the plugin list.
import { afterAll, describe, expect, test } from "bun:test";
import { existsSync, renameSync, rmSync, unlinkSync } from "node:fs";
import { join } from "node:path";
import { expectError, expectProblemsAt } from "../support/admin-fixtures.ts";
import { useGate } from "../support/gate.ts";
import { startGatehouseProcess, type ApiResponse } from "../support/gatehouse-process.ts";
import {
  countStatuses,
  logged,
  logRecords,
  pluginsDirectory,
  postChat,
  seedPlugins,
  writePlugin,
  type Fields,
} from "../support/plugin-fixtures.ts";
import type { SeededRoute } from "../support/proxy-fixtures.ts";
import { useFakeProvider, useGatehouse } from "../support/use-gatehouse.ts";
import { waitFor, waitUntil } from "../support/waiting.ts";

const START_MS = 60_000;

/** Returns the source of a plugin that sets the response header X-Word. */
function headerPlugin(name: string, word: string, { settings = "z.object({})", top = "" } = {}): string {
  return `
    import { definePlugin, z } from "gatehouse/sdk";
    ${top}
    export default definePlugin({
      name: "${name}",
      description: "Sets ${word}.",
      stages: ["pre_request"],
      settings: ${settings},
      create: () => ({ pre_request: (context) => context.setResponseHeader("X-Word", "${word}") }),
    });`;
}

const BROKEN = "export default definePlugin({ this is not TypeScript";
const SKIPPED = "custom plugin failed to load; skipping it";
const KEPT = "custom plugin failed to load; keeping the previous version";

const gate = useGate();

const directory = pluginsDirectory({
  "at_start.ts": headerPlugin("at_start", "started"),
  "plain.js": headerPlugin("plain_js", "javascript").replaceAll(": ReadonlyHeaders", ""),
  "broken_at_start.ts": BROKEN,
  "folder/index.ts": headerPlugin("in_folder", "${word}", {
    top: `import { word } from "./deep/word.ts";`,
  }).replace('"${word}"', "word"),
  "folder/deep/word.ts": `export const word = "nested";`,
  "at_start.test.ts": `throw new Error("tests must not be loaded");`,
  ".hidden.ts": headerPlugin("hidden", "hidden"),
  "notes.txt": "not a plugin",
  "types.d.ts": "export {};",
  "data/readme.md": "a folder without an index",
});
const env = { PLUGINS_DIR: directory };
const [gatehouse, provider] = await Promise.all([useGatehouse({ env }), useFakeProvider()]);
afterAll(() => {
  rmSync(directory, { recursive: true, force: true });
});

const seed = (name: string, settings: Fields = {}): Promise<SeededRoute> =>
  seedPlugins(gatehouse, provider, [{ name, stage: "pre_request", settings }]);

async function wordOn(route: SeededRoute, headers: Record<string, string> = {}): Promise<string | null> {
  const response = await postChat(gatehouse, route, { headers });
  await response.text();
  expect(response.status).toBe(200);
  return response.headers.get("x-word");
}

async function untilWord(route: SeededRoute, word: string): Promise<void> {
  await waitUntil(async () => (await wordOn(route)) === word);
}

async function listed(): Promise<Map<string, ApiResponse["body"]>> {
  const { body } = await gatehouse.api("GET", "/plugins?limit=1000");
  return new Map(body.plugins.map((plugin: { name: string }) => [plugin.name, plugin]));
}

const untilListed = (name: string) => waitFor(async () => (await listed()).get(name) ?? null);
const untilRemoved = (name: string) => waitUntil(async () => !(await listed()).has(name));

async function faultyGateways(): Promise<Record<string, string>> {
  const response = await fetch(`${gatehouse.adminUrl}/readyz`);
  expect(response.status).toBe(200);
  const body: ApiResponse["body"] = await response.json();
  return body.faulty_gateways ?? {};
}

describe("at start", () => {
  test("loads files and folders from outside the repository", async () => {
    expect(directory.startsWith(process.cwd())).toBe(false);
    expect(await wordOn(await seed("at_start"))).toBe("started");
    expect(await wordOn(await seed("plain_js"))).toBe("javascript");
    expect(await wordOn(await seed("in_folder"))).toBe("nested");
  });

  test("skips and logs a broken file; ignores tests, hidden files and other files", async () => {
    expect(await logged(gatehouse, SKIPPED, { file: "broken_at_start.ts" })).toMatchObject({
      level: "error",
    });
    const known = ["at_start", "code_sanitation", "in_folder", "plain_js", "rate_limiter"];
    expect([...(await listed()).keys()].filter((name) => known.includes(name)).sort()).toEqual(known);
    expect((await listed()).has("hidden")).toBe(false);
    const failed = logRecords(gatehouse).filter((line) => line.msg === SKIPPED);
    for (const { file } of failed)
      expect(["at_start.test.ts", ".hidden.ts", "notes.txt", "types.d.ts"]).not.toContain(file);
  });
});

describe("GET /plugins", () => {
  test("lists name, description, stages, JSON Schema and whether the plugin is built in", async () => {
    const settings = `z.strictObject({ word: z.string().max(9).default("x").meta({ description: "What." }), n: z.int().optional() })`;
    writePlugin(directory, "schema.ts", headerPlugin("with_schema", "s", { settings }));
    expect(await untilListed("with_schema")).toEqual({
      name: "with_schema",
      description: "Sets s.",
      stages: ["pre_request"],
      default_mode: "enforce",
      builtin: false,
      settings_schema: {
        $schema: "https://json-schema.org/draft/2020-12/schema",
        type: "object",
        properties: {
          word: { type: "string", maxLength: 9, default: "x", description: "What." },
          n: { type: "integer", minimum: -Number.MAX_SAFE_INTEGER, maximum: Number.MAX_SAFE_INTEGER },
        },
        additionalProperties: false,
      },
    });
    for (const name of ["rate_limiter", "code_sanitation"]) {
      const plugin = (await listed()).get(name);
      expect(plugin).toMatchObject({ builtin: true, stages: ["pre_request"] });
      expect(plugin.description).toMatch(/\S/);
      expect(plugin.settings_schema).toMatchObject({ type: "object", additionalProperties: false });
    }
    const { body } = await gatehouse.api("GET", "/plugins?limit=1&offset=1");
    expect(body).toMatchObject({ count: (await listed()).size, limit: 1, offset: 1 });
    expect(body.plugins).toHaveLength(1);
  });

  test("a schema that has no JSON Schema equivalent, or is not a zod schema, does not break the list", async () => {
    const odd = `z.object({ when: z.date().optional(), f: z.custom(() => true).optional() })`;
    writePlugin(directory, "odd.ts", headerPlugin("odd_schema", "odd", { settings: odd }));
    writePlugin(
      directory,
      "foreign.ts",
      headerPlugin("foreign", "f", { settings: "{ safeParse: () => ({ success: true }) } as never" }),
    );
    await untilListed("odd_schema");
    await logged(gatehouse, SKIPPED, { file: "foreign.ts" });
    expect((await gatehouse.api("GET", "/plugins")).status).toBe(200);
  });
});

describe("while the gateway runs", () => {
  test("loads a new file; rejects its plugin name before that", async () => {
    const body = { name: "early", required_plugins: [{ name: "new_one", stage: "pre_request" }] };
    expectProblemsAt(await gatehouse.api("POST", "/gateways", body), "required_plugins[0].name");
    writePlugin(directory, "new.ts", headerPlugin("new_one", "new"));
    await untilListed("new_one");
    expect(await wordOn(await seed("new_one"))).toBe("new");
  });

  test("replaces an edited plugin while requests run: no request fails, and new requests use the new code", async () => {
    writePlugin(directory, "edited.ts", headerPlugin("edited", "v0"));
    await untilListed("edited");
    const route = await seed("edited");
    const statuses: number[] = [];
    const words: string[] = [];
    let isOver = false;
    const clients = Array.from({ length: 8 }, async () => {
      while (!isOver) {
        const response = await postChat(gatehouse, route);
        await response.text();
        statuses.push(response.status);
        words.push(response.headers.get("x-word") ?? "nothing");
      }
    });
    for (const word of ["v1", "v2", "v3"]) {
      writePlugin(directory, "edited.ts", headerPlugin("edited", word));
      await untilWord(route, word);
      expect(await wordOn(route)).toBe(word);
    }
    isOver = true;
    await Promise.all(clients);
    expect(Object.keys(countStatuses(statuses))).toEqual(["200"]);
    expect([...new Set(words)].sort()).toEqual(["v0", "v1", "v2", "v3"]);
  }, 60_000);

  test("a request in flight finishes with the code that it started with", async () => {
    const slow = (word: string) => `
      import { definePlugin, z } from "gatehouse/sdk";
      export default definePlugin({ name: "slow", description: "", stages: ["pre_request"], settings: z.object({}),
        create: () => ({ async pre_request(context) {
          if (context.headers.get("x-wait") !== null) await fetch("${gate.url}");
          context.setResponseHeader("X-Word", "${word}");
        } }) });`;
    writePlugin(directory, "slow.ts", slow("old"));
    await untilListed("slow");
    const route = await seed("slow");
    const inFlight = wordOn(route, { "X-Wait": "yes" });
    await gate.untilArrived(1);
    writePlugin(directory, "slow.ts", slow("new"));
    await untilWord(route, "new");
    gate.open();
    expect(await inFlight).toBe("old");
  });

  test.each([
    ["does not parse", BROKEN],
    ["throws on import", `${headerPlugin("stubborn", "bad")}; throw new Error("no");`],
    ["imports a missing file", `import "./nowhere.ts"; ${headerPlugin("stubborn", "bad")}`],
    ["has no default export", "export const nothing = 1;"],
    ["has an invalid name", headerPlugin("not a name", "bad")],
    ["uses the name of a built-in plugin", headerPlugin("rate_limiter", "bad")],
    ["supports no known stage", headerPlugin("stubborn", "bad").replace('["pre_request"]', '["never"]')],
    ["has settings that are not a schema", headerPlugin("stubborn", "bad", { settings: "{}" })],
  ])("an edit that %s keeps the previous version running and is logged", async (_what, source) => {
    const name = `stubborn_${crypto.randomUUID().slice(0, 8)}`;
    const file = `${name}.ts`;
    writePlugin(directory, file, headerPlugin(name, "old"));
    await untilListed(name);
    const route = await seed(name);
    writePlugin(directory, file, source.replaceAll("stubborn", name));
    const line = await logged(gatehouse, KEPT, { plugin: name });
    expect(line).toMatchObject({ level: "error", file });
    expect(line.reason).toMatch(/\S/);
    expect(await wordOn(route)).toBe("old");
    expect(await wordOn(await seed(name))).toBe("old");
    writePlugin(directory, file, headerPlugin(name, "fixed"));
    await untilWord(route, "fixed");
  });

  test("reloads a plugin when a file in a subfolder of it changes", async () => {
    const route = await seed("in_folder");
    writePlugin(directory, "folder/deep/word.ts", `export const word = "edited deep";`);
    await untilWord(route, "edited deep");
  });

  test("watches subfolders of a folder that is created later", async () => {
    const index = headerPlugin("late_folder", "", { top: `import { word } from "./deep/word.ts";` }).replace(
      '"X-Word", ""',
      '"X-Word", word',
    );
    writePlugin(directory, "late/deep/word.ts", `export const word = "first";`);
    writePlugin(directory, "late/index.ts", index);
    await untilListed("late_folder");
    const route = await seed("late_folder");
    expect(await wordOn(route)).toBe("first");
    writePlugin(directory, "late/deep/word.ts", `export const word = "second";`);
    await untilWord(route, "second");
  });

  test("removing a file removes its plugin; gateways that use it keep it and are listed by /readyz", async () => {
    writePlugin(directory, "removed.ts", headerPlugin("removed", "still active"));
    await untilListed("removed");
    const route = await seed("removed");
    unlinkSync(join(directory, "removed.ts"));
    await untilRemoved("removed");
    expect(await wordOn(route)).toBe("still active");
    expect((await faultyGateways())[route.gateway]).toContain("removed");
    const body = { name: "late", required_plugins: [{ name: "removed", stage: "pre_request" }] };
    expectError(await gatehouse.api("POST", "/gateways", body), 400, "validation_failed");
    writePlugin(directory, "removed.ts", headerPlugin("removed", "back"));
    await untilWord(route, "back");
    expect(await faultyGateways()).not.toHaveProperty(route.gateway);
  });

  test("renaming a file keeps its plugin", async () => {
    writePlugin(directory, "zz_before.ts", headerPlugin("renamed_file", "same"));
    await untilListed("renamed_file");
    const route = await seed("renamed_file");
    renameSync(join(directory, "zz_before.ts"), join(directory, "aa_after.ts"));
    await logged(gatehouse, "custom plugin loaded", { file: "aa_after.ts" });
    expect((await listed()).has("renamed_file")).toBe(true);
    expect(await wordOn(route)).toBe("same");
    expect(await faultyGateways()).not.toHaveProperty(route.gateway);
  });

  test("a file whose plugin has a new name replaces the plugin with the old name", async () => {
    writePlugin(directory, "renaming.ts", headerPlugin("old_name", "x"));
    await untilListed("old_name");
    writePlugin(directory, "renaming.ts", headerPlugin("new_name", "x"));
    await untilListed("new_name");
    await untilRemoved("old_name");
  });

  test("a new version that rejects the active settings: the old hooks stay, and /readyz lists the gateway", async () => {
    const settings = (schema: string) => ({ settings: `z.object({ level: ${schema} })` });
    writePlugin(directory, "stricter.ts", headerPlugin("stricter", "loose", settings("z.number()")));
    await untilListed("stricter");
    const route = await seed("stricter", { level: 9 });
    const other = await seed("stricter", { level: 1 });
    writePlugin(
      directory,
      "stricter.ts",
      headerPlugin("stricter", "strict", settings(`z.number().max(3, "is too high")`)),
    );
    await untilWord(other, "strict");
    expect(await wordOn(route)).toBe("loose");
    const faulty = await faultyGateways();
    expect(faulty[route.gateway]).toContain("is too high");
    expect(faulty).not.toHaveProperty(other.gateway);
    const patched = await gatehouse.api("PATCH", `/gateways/${route.gateway}`, {
      required_plugins: [{ name: "stricter", stage: "pre_request", settings: { level: 2 } }],
    });
    expect(patched.status).toBe(200);
    expect(await wordOn(route)).toBe("strict");
    expect(await faultyGateways()).not.toHaveProperty(route.gateway);
  });

  test("a value kept by the host outlives an edit of the plugin", async () => {
    const counting = (word: string) => `
      import { definePlugin, z } from "gatehouse/sdk";
      export default definePlugin({ name: "counting", description: "", stages: ["pre_request"], settings: z.object({}),
        create: (_settings, host) => {
          const kept = host.keep("count", () => ({ count: 0 }));
          return { pre_request: (context) => context.setResponseHeader("X-Word", "${word} " + ++kept.count) };
        } });`;
    writePlugin(directory, "counting.ts", counting("one"));
    await untilListed("counting");
    const [route, apart] = [await seed("counting"), await seed("counting")];
    expect(await wordOn(route)).toBe("one 1");
    expect(await wordOn(route)).toBe("one 2");
    expect(await wordOn(apart)).toBe("one 1");
    writePlugin(directory, "counting.ts", counting("two"));
    const seen = await waitFor(async () => ((await wordOn(route)) ?? "").match(/^two (\d+)$/));
    expect(Number(seen[1])).toBeGreaterThanOrEqual(3);
  });
});

test("a plugin written against the earlier SDK names still runs", async () => {
  writePlugin(
    directory,
    "earlier.ts",
    `import { definePlugin, z, type PluginAnswer } from "gatehouse/sdk";
     const reply: PluginAnswer = { status: 418, body: "short and stout" };
     export default definePlugin({ name: "earlier", description: "", stages: ["pre_request"], settings: z.object({}),
       create: () => ({ pre_request(context) {
         context.setAnswerHeader("X-Word", "tea");
         context.remark("made tea");
         context.answer(reply);
       } }) });`,
  );
  await untilListed("earlier");
  const route = await seed("earlier");
  const response = await postChat(gatehouse, route);
  expect([response.status, await response.text()]).toEqual([418, "short and stout"]);
  expect(response.headers.get("x-word")).toBe("tea");
  const record = await waitFor(
    async () => (await gatehouse.api("GET", `/gateways/${route.gateway}/requests`)).body.requests[0] ?? null,
  );
  expect(record.plugins).toMatchObject([{ name: "earlier", verdict: "answered", detail: "made tea" }]);
});

describe("names", () => {
  test("a second file with the same plugin name is skipped, and is loaded when the first file is removed", async () => {
    writePlugin(directory, "first.ts", headerPlugin("contested", "first"));
    await untilListed("contested");
    const route = await seed("contested");
    writePlugin(directory, "second.ts", headerPlugin("contested", "second"));
    const line = await logged(gatehouse, SKIPPED, { file: "second.ts" });
    expect(line.reason).toContain("first.ts");
    expect(await wordOn(route)).toBe("first");
    unlinkSync(join(directory, "first.ts"));
    await untilWord(route, "second");
  });

  test.each(["rate_limiter", "code_sanitation"])("%s is reserved for the built-in plugin", async (name) => {
    writePlugin(directory, `own_${name}.ts`, headerPlugin(name, "usurped"));
    const line = await logged(gatehouse, SKIPPED, { file: `own_${name}.ts` });
    expect(line.reason).toContain("built-in");
    expect((await listed()).get(name)).toMatchObject({ builtin: true });
  });

  test("1 to 64 letters, digits, '.', '_' and '-'", async () => {
    const good = ["a", "A.b_c-9", "n".repeat(64)];
    const bad = ["", "n".repeat(65), "with space", "slash/y", "ümlaut", "colon:"];
    for (const [index, name] of good.entries())
      writePlugin(directory, `good_${index}.ts`, headerPlugin(name, "ok"));
    for (const [index, name] of bad.entries())
      writePlugin(directory, `bad_${index}.ts`, headerPlugin(name, "no"));
    for (const name of good) await untilListed(name);
    for (const index of bad.keys()) {
      const line = await logged(gatehouse, SKIPPED, { file: `bad_${index}.ts` });
      expect(line.reason).toContain("1 to 64");
    }
    for (const name of bad) expect((await listed()).has(name)).toBe(false);
    for (const name of bad) {
      const body = { name: "x", required_plugins: [{ name, stage: "pre_request" }] };
      expectProblemsAt(await gatehouse.api("POST", "/gateways", body), "required_plugins[0].name");
    }
  });
});

describe("the plugin directory", () => {
  test(
    "may be created after the start, removed and created again",
    async () => {
      const parent = pluginsDirectory();
      const late = join(parent, "later");
      const other = await startGatehouseProcess({ env: { PLUGINS_DIR: late } });
      const names = async () =>
        (await other.api("GET", "/plugins")).body.plugins.map(
          (plugin: { name: string }) => plugin.name,
        ) as string[];
      const until = (isListed: boolean) =>
        waitUntil(async () => (await names()).includes("created_late") === isListed);
      try {
        expect(existsSync(late)).toBe(false);
        writePlugin(late, "late.ts", headerPlugin("created_late", "x"));
        await until(true);
        rmSync(late, { recursive: true });
        await until(false);
        writePlugin(late, "late.ts", headerPlugin("created_late", "x"));
        await until(true);
      } finally {
        await other.stop();
        rmSync(parent, { recursive: true, force: true });
      }
    },
    START_MS,
  );
});
