// withPluginIds: entries of required_plugins keep their ids, and with them their counters, when the list changes.
import { describe, expect, test } from "bun:test";
import { withPluginIds, type PluginConfig } from "./plugin-config.ts";

function entry(name: string, settings: Record<string, unknown> = {}): PluginConfig {
  return {
    name,
    stage: "pre_request",
    enabled: true,
    priority: 1,
    settings,
    on_error: "fail",
    mode: "enforce",
    sample: 1,
    isolation: "inline",
  };
}

function ids(prefix = "new"): () => string {
  let count = 0;
  return () => `${prefix} ${++count}`;
}

describe("withPluginIds", () => {
  const [a, b] = [entry("limiter", { limit: 1 }), entry("limiter", { limit: 2 })];
  const stored = withPluginIds([a, b], [], ids());

  test("a new entry gets a new id", () => {
    expect(stored.map(({ id }) => id)).toEqual(["new 1", "new 2"]);
  });

  test("entries keep their ids when the list is reordered or an entry is removed", () => {
    expect(withPluginIds([b, a], stored, ids()).map(({ id }) => id)).toEqual(["new 2", "new 1"]);
    expect(withPluginIds([b], stored, ids()).map(({ id }) => id)).toEqual(["new 2"]);
  });

  test("an entry keeps its id when its settings change", () => {
    const changed = entry("limiter", { limit: 9 });
    expect(withPluginIds([changed, b], stored, ids()).map(({ id }) => id)).toEqual(["new 1", "new 2"]);
    expect(withPluginIds([changed, a], stored, ids()).map(({ id }) => id)).toEqual(["new 2", "new 1"]);
  });

  test("a second entry with the same name and settings gets a new id", () => {
    const next = withPluginIds([a, a, b], stored, ids("other"));
    expect(next.map(({ id }) => id)).toEqual(["new 1", "other 1", "new 2"]);
  });
});
