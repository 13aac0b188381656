// Compiling a gateway's plugins: null where there is nothing to do, order, needs, and instances that outlive changes.
import { describe, expect, test } from "bun:test";
import { compileContext } from "../../test/support/compile-context.ts";
import type { PluginConfig, StoredPluginConfig } from "../model/plugin-config.ts";
import type { PluginStage } from "../model/plugin-stage.ts";
import { definePlugin, z, type PluginDefinition, type PluginHost } from "../sdk/index.ts";
import { CompileError } from "./compile-error.ts";
import { compileChain } from "./plugin-chain.ts";

const STAGES = ["pre_request", "post_request", "pre_response", "post_response"] as const;

function setup(definition: Partial<PluginDefinition> = {}) {
  const { plugins, instances: hosts } = compileContext();
  const made: { settings: unknown; host: PluginHost }[] = [];
  const plugin = definePlugin<unknown>({
    name: "p",
    description: "",
    stages: STAGES,
    settings: z.object({ n: z.number().optional() }),
    create: (settings, host) => {
      made.push({ settings, host });
      return Object.fromEntries(STAGES.map((stage) => [stage, () => undefined]));
    },
    ...definition,
  });
  plugins.register(plugin);
  const compile = (...configs: PluginConfig[]) => compileChain("g", numbered(configs), plugins, hosts);
  return { made, plugin, plugins, hosts, compile };
}

/** As they are kept: each with an id of its own. */
function numbered(configs: readonly PluginConfig[]): StoredPluginConfig[] {
  return configs.map((each, index) => ({ id: String(index), ...each }));
}

function config(stage: PluginStage, fields: Partial<PluginConfig> = {}): PluginConfig {
  return { name: "p", stage, enabled: true, priority: 1, settings: {}, on_error: "fail", ...fields };
}

describe("a chain", () => {
  test("is null where no plugin is enabled", () => {
    const { compile } = setup();
    expect(compile()).toBeNull();
    expect(compile(config("pre_request", { enabled: false }))).toBeNull();
  });

  test("has null for the stages without a plugin", () => {
    const chain = setup().compile(config("post_request"), config("pre_request", { enabled: false }));
    expect(chain).toMatchObject({ pre_request: null, pre_response: null, post_response: null });
    expect(chain?.post_request).toHaveLength(1);
  });

  test("is ordered by priority, then as listed", () => {
    const priorities = [5, 1, 5, -2, 1];
    const chain = setup().compile(...priorities.map((priority) => config("pre_request", { priority })));
    expect(chain?.pre_request?.map(({ instanceId }) => instanceId)).toEqual([
      "g/3",
      "g/1",
      "g/4",
      "g/0",
      "g/2",
    ]);
  });

  test("holds bodies only for an enabled plugin that needs them, and only at its stage", () => {
    const { compile } = setup({ needs: ["body"] });
    const needs = (...configs: PluginConfig[]) => {
      const chain = compile(...configs);
      return [chain?.needsRequestBody, chain?.needsWholeResponse];
    };
    expect(needs(config("pre_request"))).toEqual([true, false]);
    expect(needs(config("pre_response"))).toEqual([false, true]);
    expect(needs(config("post_request"), config("pre_request", { enabled: false }))).toEqual([false, false]);
    expect(setup().compile(config("pre_request"), config("pre_response"))).toMatchObject({
      needsRequestBody: false,
      needsWholeResponse: false,
    });
    expect(setup({ needs: ["chunks"] }).compile(config("pre_response"))).toMatchObject({
      needsWholeResponse: false,
    });
  });

  test("gives the entries of a plugin one place for notes across stages, and two of one stage two", () => {
    const chain = setup().compile(config("pre_request"), config("pre_request"), config("post_request"));
    const [first, second] = chain?.pre_request ?? [];
    expect(chain?.post_request?.[0]?.notesKey).toBe(first!.notesKey);
    expect(second!.notesKey).not.toBe(first!.notesKey);
  });

  test("tells every fault of every entry", () => {
    const { compile } = setup({ stages: ["pre_request"] });
    const fault = (() => {
      try {
        compile(
          config("pre_request", { name: "q" }),
          config("post_request"),
          config("pre_request", { settings: { n: "x" } }),
        );
      } catch (error) {
        return error as CompileError;
      }
      return null;
    })();
    expect(fault).toBeInstanceOf(CompileError);
    expect(fault?.details.map(({ path }) => path)).toEqual([
      "required_plugins[0].name",
      "required_plugins[1].stage",
      "required_plugins[2].settings.n",
    ]);
  });

  test("a schema that throws instead of judging is a fault of the settings", () => {
    const settings = z.unknown().refine(() => Promise.resolve(true));
    expect(() => setup({ settings }).compile(config("pre_request"))).toThrow(CompileError);
  });
});

describe("an instance", () => {
  test("stays while its settings do, whatever changes around it", () => {
    const { made, compile } = setup();
    const before = compile(config("pre_request", { settings: { n: 1 } }));
    const after = compile(
      config("pre_request", { settings: { n: 1 }, priority: 9, on_error: "continue" }),
      config("post_request"),
    );
    expect(after?.pre_request?.[0]?.hooks).toBe(before!.pre_request![0]!.hooks);
    expect(made).toHaveLength(2);
    compile(config("pre_request", { settings: { n: 2 } }));
    expect(made).toHaveLength(3);
  });

  test("is made anew for a new version of its plugin, and what the host keeps stays", () => {
    const { made, compile, plugin, plugins, hosts } = setup();
    compile(config("pre_request"));
    const kept = made[0]!.host.keep("state", () => ({}));
    plugins.register({ ...plugin });
    compile(config("pre_request"));
    expect(made).toHaveLength(2);
    expect(made[1]!.host.keep("state", () => ({}))).toBe(kept);
    hosts.releaseGateway("g");
    compile(config("pre_request"));
    expect(made[2]!.host.keep("state", () => ({}))).not.toBe(kept);
  });

  test("of another gateway or entry has its own", () => {
    const { made, compile, plugins, hosts } = setup();
    compile(config("pre_request"), config("pre_request"));
    compileChain("g2", numbered([config("pre_request")]), plugins, hosts);
    const kept = made.map(({ host }) => host.keep("state", () => ({})));
    expect(new Set(kept).size).toBe(3);
    hosts.releaseGateway("g");
    expect(made[2]!.host.keep("state", () => ({}))).toBe(kept[2]!);
  });
});
