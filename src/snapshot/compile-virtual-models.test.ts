// The virtual model with a requested name, and its fallbacks, compared with a naive search.
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import {
  gatewayRecord,
  serviceRecord,
  targetRecord,
  upstreamRecord,
  virtualModelRecord,
} from "../../test/contract/store-records.ts";
import { ruleRecord } from "../../test/contract/store-records.ts";
import { compileContext } from "../../test/support/compile-context.ts";
import { runs } from "../../test/support/long-form.ts";
import type { VirtualModel } from "../model/virtual-model.ts";
import { CompileError } from "./compile-error.ts";
import { compileGateway } from "./compile.ts";
import type { VirtualModelTable } from "./compile-virtual-models.ts";

const UPSTREAMS = ["u-openai", "u-groq", "u-both"];
const PROVIDERS: Record<string, readonly string[]> = {
  "u-openai": ["openai"],
  "u-groq": ["groq"],
  "u-both": ["openai", "groq"],
};

function compile(models: readonly VirtualModel[], virtual_models: "own" | "any" = "any") {
  const gateway = gatewayRecord({ id: "g" });
  const upstreams = UPSTREAMS.map((id) =>
    upstreamRecord("g", {
      id,
      name: id,
      targets: PROVIDERS[id]!.map((provider) => targetRecord({ provider })),
    }),
  );
  const services = UPSTREAMS.map((id) => serviceRecord("g", id, { id: `s-${id}`, virtual_models }));
  const rules = UPSTREAMS.map((id) => ruleRecord("g", `s-${id}`, { name: id, path: `/${id}/*` }));
  const parts = { gateway, upstreams, mcp_servers: [], services, rules, models, budgets: [], game_days: [] };
  return compileGateway(parts, compileContext());
}

const letters = fc.string({ unit: fc.constantFrom("a", "b"), minLength: 1, maxLength: 3 });
const sketch = fc.record({
  name: fc.oneof(
    letters,
    letters.map((prefix) => `${prefix}*`),
    fc.constant("*"),
  ),
  aliases: fc.array(letters, { maxLength: 2 }),
  targets: fc.uniqueArray(
    fc.record({
      upstream: fc.constantFrom(...UPSTREAMS),
      model: fc.option(letters),
      weight: fc.constant(1),
    }),
    { minLength: 1, maxLength: 3, selector: ({ upstream, model }) => `${upstream} ${model}` },
  ),
});

/** Names are unique: later virtual models that take a name again are left out. */
const someModels = fc.array(sketch, { minLength: 1, maxLength: 6 }).map((sketches) => {
  const taken = new Set<string>();
  return sketches.flatMap(({ name, aliases, targets }, index) => {
    const own = [...new Set(aliases)].filter((alias) => alias !== name && !taken.has(alias));
    if (taken.has(name)) return [];
    for (const each of [name, ...own]) taken.add(each);
    return virtualModelRecord("g", "", { id: `m${index}`, name, aliases: own, targets });
  });
});

type Sent = readonly (readonly [upstream: string, provider: string, model: string])[];

/** What is found for the requested name: the virtual model, and what each provider of each upstream would get. */
function naive(
  models: readonly VirtualModel[],
  requested: string,
  upstream: string | null,
): [string, Sent] | null {
  const served = models.flatMap((model) => {
    const targets = model.targets.filter((each) => upstream === null || each.upstream === upstream);
    return targets.length === 0 ? [] : { ...model, targets };
  });
  const exact = served.find(({ name, aliases }) => name === requested || aliases.includes(requested));
  const sent = (model: VirtualModel, name: string, only: (provider: string, sent: string) => boolean): Sent =>
    model.targets.flatMap((target) =>
      PROVIDERS[target.upstream]!.flatMap((provider) => {
        const model = target.model ?? name;
        return only(provider, model) ? [[target.upstream, provider, model] as const] : [];
      }),
    );
  const all = () => true;
  const isPattern = ({ name }: VirtualModel) => name.endsWith("*");
  if (exact !== undefined) return [exact.name, sent(exact, isPattern(exact) ? requested : exact.name, all)];
  const [provider = "", rest] = requested.includes("/") ? requested.split("/") : [];
  if (rest !== undefined)
    for (const model of served) {
      const fixed = model.targets.filter(
        (each) => (each.model ?? (isPattern(model) ? null : model.name)) === rest,
      );
      const found = sent({ ...model, targets: fixed }, rest, (each) => each === provider);
      if (found.length > 0) return [model.name, found];
    }
  const longest = (name: string) =>
    served
      .filter((model) => isPattern(model) && name.startsWith(model.name.slice(0, -1)))
      .sort((a, b) => b.name.length - a.name.length)[0];
  const pattern = longest(requested);
  const qualified = rest === undefined ? undefined : longest(rest);
  if (rest !== undefined && qualified !== undefined && (pattern === undefined || pattern.name === "*")) {
    const passing = { ...qualified, targets: qualified.targets.filter(({ model }) => model === null) };
    const found = sent(passing, rest, (each) => each === provider);
    if (found.length > 0) return [qualified.name, found];
  }
  return pattern === undefined ? null : [pattern.name, sent(pattern, requested, all)];
}

function actual(table: VirtualModelTable | null, requested: string): [string, Sent] | null {
  const found = table?.find(requested) ?? null;
  if (found === null) return null;
  const sent = found.model.targets.flatMap(({ upstream, model }) => {
    const candidates = upstream.candidatesFor(model ?? found.name);
    return (candidates?.preferred ?? []).map(
      (index) => [upstream.id, upstream.targets[index]!.provider, model ?? found.name] as const,
    );
  });
  return [found.model.name, sent];
}

const requestedName = fc.oneof(
  letters,
  fc
    .tuple(fc.constantFrom("openai", "groq", "other"), letters)
    .map(([provider, name]) => `${provider}/${name}`),
);

test("a name is resolved as by a naive search, for rules of any and of one upstream", () => {
  fc.assert(
    fc.property(someModels, fc.array(requestedName, { minLength: 1, maxLength: 10 }), (models, names) => {
      const any = compile(models);
      const own = compile(models, "own");
      for (const name of names) {
        expect(actual(any.rules[0]!.virtualModels, name)).toEqual(naive(models, name, null));
        for (const { virtualModels, upstream } of own.rules)
          expect(actual(virtualModels, name)).toEqual(naive(models, name, upstream.id));
      }
    }),
    { numRuns: runs({ short: 50, long: 3000 }) },
  );
});

describe("fallbacks", () => {
  const model = (name: string, fallback: readonly string[]) =>
    virtualModelRecord("g", "u-openai", { id: `m-${name}`, name, fallback: [...fallback] });

  test("are a list without cycles, depth first, each once, or the records are rejected", () => {
    const names = ["a", "b", "c", "d", "e"];
    const edges = fc.array(fc.uniqueArray(fc.constantFrom(...names), { maxLength: 3 }), {
      minLength: names.length,
      maxLength: names.length,
    });
    fc.assert(
      fc.property(edges, (fallbacks) => {
        const models = names.map((name, index) => model(name, fallbacks[index]!));
        const next = (name: string) => fallbacks[names.indexOf(name)]!;
        const walk = (name: string, path: readonly string[]): string[] => {
          if (path.includes(name)) throw new RangeError("cycle");
          return [name, ...next(name).flatMap((each) => walk(each, [...path, name]))];
        };
        let expected: string[][];
        try {
          expected = names.map((name) => [...new Set(walk(name, []))]);
        } catch {
          expect(() => compile(models)).toThrow(CompileError);
          return;
        }
        const table = compile(models).rules[0]!.virtualModels!;
        expect(names.map((name) => table.chainOf(name)!.map((entry) => entry.model.name))).toEqual(expected);
      }),
      { numRuns: runs({ short: 50, long: 3000 }) },
    );
  });
});
