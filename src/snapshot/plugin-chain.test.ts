// Compiling the plugins of a gateway: empty stages, order, required bodies, and instances that outlive changes.
import { describe, expect, test } from "bun:test";
import { compileContext } from "../../test/support/compile-context.ts";
import type { PluginConfig, StoredPluginConfig } from "../model/plugin-config.ts";
import type { PluginStage } from "../model/plugin-stage.ts";
import { definePlugin, z, type PluginDefinition, type PluginHost } from "../sdk/index.ts";
import type { ChainLink } from "./chain-link.ts";
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

/** Returns the entries in their stored form, each with an id. */
function numbered(configs: readonly PluginConfig[]): StoredPluginConfig[] {
  return configs.map((each, index) => ({ id: String(index), ...each }));
}

function config(stage: PluginStage, fields: Partial<PluginConfig> = {}): PluginConfig {
  return {
    name: "p",
    stage,
    enabled: true,
    priority: 1,
    settings: {},
    on_error: "fail",
    mode: "enforce",
    sample: 1,
    isolation: "inline",
    ...fields,
  };
}

describe("a plugin chain", () => {
  test("is null if no plugin is enabled", () => {
    const { compile } = setup();
    expect(compile()).toBeNull();
    expect(compile(config("pre_request", { enabled: false }))).toBeNull();
  });

  test("has null for stages without a plugin", () => {
    const chain = setup().compile(config("post_request"), config("pre_request", { enabled: false }));
    expect(chain).toMatchObject({ pre_request: null, pre_response: null, post_response: null });
    expect(chain?.post_request).toHaveLength(1);
  });

  test("knows which plugins are part of the gateway, also in shadow mode; the next version of a plugin never is", () => {
    const { compile, plugins, plugin } = setup();
    plugins.setNext(plugin);
    const limits = { limits: { global: { limit: 1, window: "1m" } } };
    const limiter = config("pre_request", { name: "rate_limiter", settings: limits });
    const chain = compile(
      limiter,
      config("pre_request"),
      { ...limiter, mode: "shadow" },
      config("pre_request", { mode: "shadow" }),
    );
    const builtIn = (links: readonly ChainLink[] | null | undefined) =>
      links?.map(({ name, isBuiltIn }) => `${name} ${isBuiltIn}`);
    expect(builtIn(chain?.pre_request)).toEqual(["rate_limiter true", "p false"]);
    expect(builtIn(chain?.shadows?.pre_request)?.sort()).toEqual([
      "p@next false",
      "p@shadow false",
      "rate_limiter@shadow true",
    ]);
  });

  test("is ordered by priority, then by position in the list", () => {
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

  test("requires bodies only for an enabled plugin that needs them, and only at its stage", () => {
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

  test("shares notes between stages, but not between two entries of one stage", () => {
    const chain = setup().compile(config("pre_request"), config("pre_request"), config("post_request"));
    const [first, second] = chain?.pre_request ?? [];
    expect(chain?.post_request?.[0]?.notesKey).toBe(first!.notesKey);
    expect(second!.notesKey).not.toBe(first!.notesKey);
  });

  test("reports every problem of every entry", () => {
    const { compile } = setup({ stages: ["pre_request"] });
    const error = (() => {
      try {
        compile(
          config("pre_request", { name: "q" }),
          config("post_request"),
          config("pre_request", { settings: { n: "x" } }),
        );
      } catch (thrown) {
        return thrown instanceof CompileError ? thrown : null;
      }
      return null;
    })();
    expect(error?.details.map(({ path }) => path)).toEqual([
      "required_plugins[0].name",
      "required_plugins[1].stage",
      "required_plugins[2].settings.n",
    ]);
  });

  test("reports a schema that throws as a problem of the settings", () => {
    const settings = z.unknown().refine(() => Promise.resolve(true));
    expect(() => setup({ settings }).compile(config("pre_request"))).toThrow(CompileError);
  });
});

describe("a plugin instance", () => {
  test("is kept while its settings stay the same, whatever else changes in the gateway", () => {
    const { made, compile } = setup();
    const before = compile(config("pre_request", { settings: { n: 1 } }));
    const after = compile(
      config("pre_request", {
        settings: { n: 1 },
        priority: 9,
        on_error: "continue",
        mode: "enforce",
        sample: 1,
        isolation: "inline",
      }),
      config("post_request"),
    );
    expect(after?.pre_request?.[0]?.hooks).toBe(before!.pre_request![0]!.hooks);
    expect(made).toHaveLength(2);
    compile(config("pre_request", { settings: { n: 2 } }));
    expect(made).toHaveLength(3);
  });

  test("is created again for a new version of its plugin, with what its host kept", () => {
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

  test("shares nothing that its host keeps with other gateways or entries", () => {
    const { made, compile, plugins, hosts } = setup();
    compile(config("pre_request"), config("pre_request"));
    compileChain("g2", numbered([config("pre_request")]), plugins, hosts);
    const kept = made.map(({ host }) => host.keep("state", () => ({})));
    expect(new Set(kept).size).toBe(3);
    hosts.releaseGateway("g");
    expect(made[2]!.host.keep("state", () => ({}))).toBe(kept[2]!);
  });
});
