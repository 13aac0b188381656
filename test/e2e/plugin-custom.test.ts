// Custom plugins from PLUGINS_DIR: loaded at start, picked up and swapped while requests run, the old one kept when
// the new one fails, and listed (the contract's section 7).
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { existsSync, renameSync, rmSync, unlinkSync } from "node:fs";
import { join } from "node:path";
import { startFakeProvider, type FakeProvider } from "../../src/fake-provider/server.ts";
import { expectError, expectFaultsAt } from "../support/admin-fixtures.ts";
import {
  startGatehouseProcess,
  waitFor,
  type ApiAnswer,
  type GatehouseProcess,
} from "../support/gatehouse-process.ts";
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

const START_MS = 20_000;
const SWAP_MS = 5000;

/** Says a word in a header of every answer. */
function saying(name: string, word: string, { settings = "z.object({})", top = "" } = {}): string {
  return `
    import { definePlugin, z } from "gatehouse/sdk";
    ${top}
    export default definePlugin({
      name: "${name}",
      description: "Says ${word}.",
      stages: ["pre_request"],
      settings: ${settings},
      create: () => ({ pre_request: (context) => context.setResponseHeader("X-Said", "${word}") }),
    });`;
}

const BROKEN = "export default definePlugin({ this is no TypeScript";
const FAILED = "a custom plugin could not be loaded; it is left out";

let gatehouse: GatehouseProcess;
let provider: FakeProvider;
let directory: string;

beforeAll(async () => {
  directory = pluginsDirectory({
    "at_start.ts": saying("at_start", "started"),
    "plain.js": saying("plain_js", "javascript").replaceAll(": ReadonlyHeaders", ""),
    "broken_at_start.ts": BROKEN,
    "folder/index.ts": saying("in_folder", "${word}", {
      top: `import { word } from "./deep/word.ts";`,
    }).replace('"${word}"', "word"),
    "folder/deep/word.ts": `export const word = "nested";`,
    "at_start.test.ts": `throw new Error("a test is no plugin");`,
    ".hidden.ts": saying("hidden", "hidden"),
    "notes.txt": "no plugin",
    "types.d.ts": "export {};",
    "data/readme.md": "a folder without an index",
  });
  const env = { PLUGINS_DIR: directory };
  [gatehouse, provider] = await Promise.all([startGatehouseProcess({ env }), startFakeProvider()]);
}, START_MS);
afterAll(async () => {
  await gatehouse.stop();
  await provider.stop();
  rmSync(directory, { recursive: true, force: true });
});

const seed = (name: string, settings: Fields = {}): Promise<SeededRoute> =>
  seedPlugins(gatehouse, provider, [{ name, stage: "pre_request", settings }]);

async function saidOn(route: SeededRoute): Promise<string | null> {
  const response = await postChat(gatehouse, route);
  await response.text();
  expect(response.status).toBe(200);
  return response.headers.get("x-said");
}

async function untilSaid(route: SeededRoute, word: string): Promise<void> {
  await waitFor(async () => ((await saidOn(route)) === word ? true : null), SWAP_MS);
}

async function listed(): Promise<Map<string, ApiAnswer["body"]>> {
  const { body } = await gatehouse.api("GET", "/plugins?limit=1000");
  return new Map(body.plugins.map((plugin: { name: string }) => [plugin.name, plugin]));
}

const untilListed = (name: string) => waitFor(async () => (await listed()).get(name) ?? null, SWAP_MS);
const untilGone = (name: string) => waitFor(async () => ((await listed()).has(name) ? null : true), SWAP_MS);

async function faultyGateways(): Promise<Record<string, string>> {
  const response = await fetch(`${gatehouse.adminUrl}/readyz`);
  expect(response.status).toBe(200);
  const body: ApiAnswer["body"] = await response.json();
  return body.faulty_gateways ?? {};
}

describe("at start", () => {
  test("files and folders are loaded, from outside of the repository", async () => {
    expect(directory.startsWith(process.cwd())).toBe(false);
    expect(await saidOn(await seed("at_start"))).toBe("started");
    expect(await saidOn(await seed("plain_js"))).toBe("javascript");
    expect(await saidOn(await seed("in_folder"))).toBe("nested");
  });

  test("a broken one is left out, which the log says; tests, hidden and other files are none", async () => {
    expect(await logged(gatehouse, FAILED, { file: "broken_at_start.ts" })).toMatchObject({ level: "error" });
    const known = ["at_start", "code_sanitation", "in_folder", "plain_js", "rate_limiter"];
    expect([...(await listed()).keys()].filter((name) => known.includes(name)).sort()).toEqual(known);
    expect((await listed()).has("hidden")).toBe(false);
    const failed = logRecords(gatehouse).filter((line) => line.msg === FAILED);
    for (const { file } of failed)
      expect(["at_start.test.ts", ".hidden.ts", "notes.txt", "types.d.ts"]).not.toContain(file);
  });
});

describe("GET /plugins", () => {
  test("lists name, description, stages, JSON Schema and whether it is built in", async () => {
    const settings = `z.strictObject({ word: z.string().max(9).default("x").meta({ description: "What." }), n: z.int().optional() })`;
    writePlugin(directory, "schema.ts", saying("with_schema", "s", { settings }));
    expect(await untilListed("with_schema")).toEqual({
      name: "with_schema",
      description: "Says s.",
      stages: ["pre_request"],
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

  test("a schema that JSON Schema cannot hold, or none of ours, does not break the list", async () => {
    const odd = `z.object({ when: z.date().optional(), f: z.custom(() => true).optional() })`;
    writePlugin(directory, "odd.ts", saying("odd_schema", "odd", { settings: odd }));
    writePlugin(
      directory,
      "foreign.ts",
      saying("foreign", "f", { settings: "{ safeParse: () => ({ success: true }) } as never" }),
    );
    await untilListed("odd_schema");
    await logged(gatehouse, FAILED, { file: "foreign.ts" });
    expect((await gatehouse.api("GET", "/plugins")).status).toBe(200);
  });
});

describe("while it runs", () => {
  test("a new file is picked up; until then its name is refused", async () => {
    const body = { name: "early", required_plugins: [{ name: "new_one", stage: "pre_request" }] };
    expectFaultsAt(await gatehouse.api("POST", "/gateways", body), "required_plugins[0].name");
    writePlugin(directory, "new.ts", saying("new_one", "new"));
    await untilListed("new_one");
    expect(await saidOn(await seed("new_one"))).toBe("new");
  });

  test("an edit is swapped while requests run: none fails, new ones see the new code", async () => {
    writePlugin(directory, "edited.ts", saying("edited", "v0"));
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
        words.push(response.headers.get("x-said") ?? "nothing");
      }
    });
    for (const word of ["v1", "v2", "v3"]) {
      writePlugin(directory, "edited.ts", saying("edited", word));
      await untilSaid(route, word);
      expect(await saidOn(route)).toBe(word);
    }
    isOver = true;
    await Promise.all(clients);
    expect(Object.keys(countStatuses(statuses))).toEqual(["200"]);
    expect([...new Set(words)].sort()).toEqual(["v0", "v1", "v2", "v3"]);
  }, 15_000);

  test("a request under way finishes with the code that it began with", async () => {
    const slow = (word: string) => `
      import { definePlugin, z } from "gatehouse/sdk";
      export default definePlugin({ name: "slow", description: "", stages: ["pre_request"], settings: z.object({}),
        create: () => ({ async pre_request(context) { await Bun.sleep(1000); context.setResponseHeader("X-Said", "${word}"); } }) });`;
    writePlugin(directory, "slow.ts", slow("old"));
    await untilListed("slow");
    const route = await seed("slow");
    const underWay = saidOn(route);
    await Bun.sleep(50);
    writePlugin(directory, "slow.ts", slow("new").replace("Bun.sleep(1000)", "Bun.sleep(1)"));
    await untilSaid(route, "new");
    expect(await underWay).toBe("old");
  });

  test.each([
    ["does not parse", BROKEN],
    ["throws when it is loaded", `${saying("stubborn", "bad")}; throw new Error("no");`],
    ["imports what is not there", `import "./nowhere.ts"; ${saying("stubborn", "bad")}`],
    ["has no default export", "export const nothing = 1;"],
    ["has a name that is none", saying("not a name", "bad")],
    ["takes the name of a built-in plugin", saying("rate_limiter", "bad")],
    ["supports no stage that there is", saying("stubborn", "bad").replace('["pre_request"]', '["never"]')],
    ["has settings that are no schema", saying("stubborn", "bad", { settings: "{}" })],
  ])("an edit that %s leaves the old one running, and the log says so", async (_what, source) => {
    const name = `stubborn_${crypto.randomUUID().slice(0, 8)}`;
    const file = `${name}.ts`;
    writePlugin(directory, file, saying(name, "old"));
    await untilListed(name);
    const route = await seed(name);
    writePlugin(directory, file, source.replaceAll("stubborn", name));
    const line = await logged(
      gatehouse,
      `a custom plugin could not be loaded; the one before it stays: ${name}`,
    );
    expect(line).toMatchObject({ level: "error", file });
    expect(line.reason).toMatch(/\S/);
    expect(await saidOn(route)).toBe("old");
    expect(await saidOn(await seed(name))).toBe("old");
    writePlugin(directory, file, saying(name, "mended"));
    await untilSaid(route, "mended");
  });

  test("the edit of a file deep in a folder is an edit of its plugin", async () => {
    const route = await seed("in_folder");
    writePlugin(directory, "folder/deep/word.ts", `export const word = "edited deep";`);
    await untilSaid(route, "edited deep");
  });

  test("a folder made later is watched in its depths as well", async () => {
    const index = saying("late_folder", "", { top: `import { word } from "./deep/word.ts";` }).replace(
      '"X-Said", ""',
      '"X-Said", word',
    );
    writePlugin(directory, "late/deep/word.ts", `export const word = "first";`);
    writePlugin(directory, "late/index.ts", index);
    await untilListed("late_folder");
    const route = await seed("late_folder");
    expect(await saidOn(route)).toBe("first");
    writePlugin(directory, "late/deep/word.ts", `export const word = "second";`);
    await untilSaid(route, "second");
  });

  test("a file that is gone takes its plugin along; gateways that have it keep it and are named by /readyz", async () => {
    writePlugin(directory, "leaving.ts", saying("leaving", "still here"));
    await untilListed("leaving");
    const route = await seed("leaving");
    unlinkSync(join(directory, "leaving.ts"));
    await untilGone("leaving");
    expect(await saidOn(route)).toBe("still here");
    expect((await faultyGateways())[route.gateway]).toContain("leaving");
    const body = { name: "late", required_plugins: [{ name: "leaving", stage: "pre_request" }] };
    expectError(await gatehouse.api("POST", "/gateways", body), 400, "validation_failed");
    writePlugin(directory, "leaving.ts", saying("leaving", "back"));
    await untilSaid(route, "back");
    expect(await faultyGateways()).not.toHaveProperty(route.gateway);
  });

  test("a file under a new name keeps its plugin", async () => {
    writePlugin(directory, "zz_before.ts", saying("renamed_file", "same"));
    await untilListed("renamed_file");
    const route = await seed("renamed_file");
    renameSync(join(directory, "zz_before.ts"), join(directory, "aa_after.ts"));
    await logged(gatehouse, "a custom plugin is loaded", { file: "aa_after.ts" });
    expect((await listed()).has("renamed_file")).toBe(true);
    expect(await saidOn(route)).toBe("same");
    expect(await faultyGateways()).not.toHaveProperty(route.gateway);
  });

  test("a plugin under a new name takes the place of the old one", async () => {
    writePlugin(directory, "renaming.ts", saying("name_before", "x"));
    await untilListed("name_before");
    writePlugin(directory, "renaming.ts", saying("name_after", "x"));
    await untilListed("name_after");
    await untilGone("name_before");
  });

  test("a new version that refuses the settings in force: the old hooks stay, and /readyz lists the gateway", async () => {
    const settings = (schema: string) => ({ settings: `z.object({ level: ${schema} })` });
    writePlugin(directory, "stricter.ts", saying("stricter", "loose", settings("z.number()")));
    await untilListed("stricter");
    const route = await seed("stricter", { level: 9 });
    const other = await seed("stricter", { level: 1 });
    writePlugin(
      directory,
      "stricter.ts",
      saying("stricter", "strict", settings(`z.number().max(3, "is too high")`)),
    );
    await untilSaid(other, "strict");
    expect(await saidOn(route)).toBe("loose");
    const faulty = await faultyGateways();
    expect(faulty[route.gateway]).toContain("is too high");
    expect(faulty).not.toHaveProperty(other.gateway);
    const patched = await gatehouse.api("PATCH", `/gateways/${route.gateway}`, {
      required_plugins: [{ name: "stricter", stage: "pre_request", settings: { level: 2 } }],
    });
    expect(patched.status).toBe(200);
    expect(await saidOn(route)).toBe("strict");
    expect(await faultyGateways()).not.toHaveProperty(route.gateway);
  });

  test("what must outlive an edit is kept by the host", async () => {
    const counting = (word: string) => `
      import { definePlugin, z } from "gatehouse/sdk";
      export default definePlugin({ name: "counting", description: "", stages: ["pre_request"], settings: z.object({}),
        create: (_settings, host) => {
          const kept = host.keep("count", () => ({ count: 0 }));
          return { pre_request: (context) => context.setResponseHeader("X-Said", "${word} " + ++kept.count) };
        } });`;
    writePlugin(directory, "counting.ts", counting("one"));
    await untilListed("counting");
    const [route, apart] = [await seed("counting"), await seed("counting")];
    expect(await saidOn(route)).toBe("one 1");
    expect(await saidOn(route)).toBe("one 2");
    expect(await saidOn(apart)).toBe("one 1");
    writePlugin(directory, "counting.ts", counting("two"));
    const seen = await waitFor(async () => ((await saidOn(route)) ?? "").match(/^two (\d+)$/), SWAP_MS);
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
         context.setAnswerHeader("X-Said", "tea");
         context.remark("made tea");
         context.answer(reply);
       } }) });`,
  );
  await untilListed("earlier");
  const route = await seed("earlier");
  const response = await postChat(gatehouse, route);
  expect([response.status, await response.text()]).toEqual([418, "short and stout"]);
  expect(response.headers.get("x-said")).toBe("tea");
  const record = await waitFor(
    async () => (await gatehouse.api("GET", `/gateways/${route.gateway}/requests`)).body.requests[0] ?? null,
    SWAP_MS,
  );
  expect(record.plugins).toMatchObject([{ name: "earlier", verdict: "answered", detail: "made tea" }]);
});

describe("names", () => {
  test("a second file with the name of another is refused, and takes over when that one goes", async () => {
    writePlugin(directory, "first.ts", saying("contested", "first"));
    await untilListed("contested");
    const route = await seed("contested");
    writePlugin(directory, "second.ts", saying("contested", "second"));
    const line = await logged(gatehouse, FAILED, { file: "second.ts" });
    expect(line.reason).toContain("first.ts");
    expect(await saidOn(route)).toBe("first");
    unlinkSync(join(directory, "first.ts"));
    await untilSaid(route, "second");
  });

  test.each(["rate_limiter", "code_sanitation"])("%s is taken by the built-in plugin", async (name) => {
    writePlugin(directory, `own_${name}.ts`, saying(name, "usurped"));
    const line = await logged(gatehouse, FAILED, { file: `own_${name}.ts` });
    expect(line.reason).toContain("built-in");
    expect((await listed()).get(name)).toMatchObject({ builtin: true });
  });

  test("1 to 64 letters, digits, '.', '_' and '-'", async () => {
    const good = ["a", "A.b_c-9", "n".repeat(64)];
    const bad = ["", "n".repeat(65), "with space", "slash/y", "ümlaut", "colon:"];
    for (const [index, name] of good.entries())
      writePlugin(directory, `good_${index}.ts`, saying(name, "ok"));
    for (const [index, name] of bad.entries()) writePlugin(directory, `bad_${index}.ts`, saying(name, "no"));
    for (const name of good) await untilListed(name);
    for (const index of bad.keys()) {
      const line = await logged(gatehouse, FAILED, { file: `bad_${index}.ts` });
      expect(line.reason).toContain("1 to 64");
    }
    for (const name of bad) expect((await listed()).has(name)).toBe(false);
    for (const name of bad) {
      const body = { name: "x", required_plugins: [{ name, stage: "pre_request" }] };
      expectFaultsAt(await gatehouse.api("POST", "/gateways", body), "required_plugins[0].name");
    }
  });
});

describe("the directory itself", () => {
  test(
    "may come after the start, go and come again, and the gateway lives",
    async () => {
      const parent = pluginsDirectory();
      const late = join(parent, "later");
      const other = await startGatehouseProcess({ env: { PLUGINS_DIR: late } });
      const names = async () =>
        (await other.api("GET", "/plugins")).body.plugins.map(
          (plugin: { name: string }) => plugin.name,
        ) as string[];
      const until = (isThere: boolean) =>
        waitFor(async () => ((await names()).includes("comes_late") === isThere ? true : null), SWAP_MS);
      try {
        expect(existsSync(late)).toBe(false);
        writePlugin(late, "late.ts", saying("comes_late", "x"));
        await until(true);
        rmSync(late, { recursive: true });
        await until(false);
        writePlugin(late, "late.ts", saying("comes_late", "x"));
        await until(true);
      } finally {
        await other.stop();
        rmSync(parent, { recursive: true, force: true });
      }
    },
    START_MS,
  );
});
