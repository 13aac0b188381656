// Entries of required_plugins keep their ids, and with them all they counted, through every change of the list.
import { describe, expect, test } from "bun:test";
import { withPluginIds, type PluginConfig } from "./plugin-config.ts";

function entry(name: string, settings: Record<string, unknown> = {}): PluginConfig {
  return { name, stage: "pre_request", enabled: true, priority: 1, settings, on_error: "fail" };
}

function ids(prefix = "new"): () => string {
  let made = 0;
  return () => `${prefix} ${++made}`;
}

describe("withPluginIds", () => {
  const [a, b] = [entry("limiter", { limit: 1 }), entry("limiter", { limit: 2 })];
  const stored = withPluginIds([a, b], [], ids());

  test("a new entry gets a new id", () => {
    expect(stored.map(({ id }) => id)).toEqual(["new 1", "new 2"]);
  });

  test("reordering, and taking one out, leaves the others their ids", () => {
    expect(withPluginIds([b, a], stored, ids()).map(({ id }) => id)).toEqual(["new 2", "new 1"]);
    expect(withPluginIds([b], stored, ids()).map(({ id }) => id)).toEqual(["new 2"]);
  });

  test("changed settings leave an entry its id, and the unchanged one keeps its own", () => {
    const changed = entry("limiter", { limit: 9 });
    expect(withPluginIds([changed, b], stored, ids()).map(({ id }) => id)).toEqual(["new 1", "new 2"]);
    expect(withPluginIds([changed, a], stored, ids()).map(({ id }) => id)).toEqual(["new 2", "new 1"]);
  });

  test("one more of the same is another", () => {
    const next = withPluginIds([a, a, b], stored, ids("other"));
    expect(next.map(({ id }) => id)).toEqual(["new 1", "other 1", "new 2"]);
  });
});
