// The names of the virtual models of a gateway: each is unique, and fallbacks lead to other virtual models without cycles.
import { nearestName } from "../base/nearest-name.ts";

/** The most virtual models that a request may go through, fallbacks of fallbacks included. */
const MAX_CHAIN = 16;

interface LinkedVirtualModel {
  readonly name: string;
  readonly aliases: readonly string[];
  readonly fallback: readonly string[];
}

interface VirtualModelProblem {
  /** Index of the virtual model. */
  readonly index: number;
  readonly path: string;
  readonly message: string;
}

export function virtualModelProblems(models: readonly LinkedVirtualModel[]): VirtualModelProblem[] {
  const problems: VirtualModelProblem[] = [];
  const owners = new Map<string, string>();
  for (const [index, { name, aliases }] of models.entries()) {
    const names = [
      ["name", name] as const,
      ...aliases.map((alias, at) => [`aliases[${at}]`, alias] as const),
    ];
    for (const [path, each] of names) {
      const owner = owners.get(each);
      if (owner !== undefined)
        problems.push({
          index,
          path,
          message: `"${each}" is already a name of the virtual model "${owner}"`,
        });
      owners.set(each, owner ?? name);
    }
  }
  const finder = new VirtualModelNames(models);
  for (const [index, model] of models.entries())
    for (const [at, fallback] of model.fallback.entries()) {
      const message = fallbackProblem(model, fallback, finder);
      if (message !== null) problems.push({ index, path: `fallback[${at}]`, message });
    }
  return problems;
}

function fallbackProblem(
  model: LinkedVirtualModel,
  name: string,
  names: VirtualModelNames<LinkedVirtualModel>,
): string | null {
  const found = names.find(name);
  if (found === null) {
    const nearest = nearestName(name, names.all);
    return `there is no virtual model "${name}" in this gateway${nearest === null ? "" : `; did you mean "${nearest}"?`}`;
  }
  const reached = new Set<LinkedVirtualModel>();
  const queue = [found];
  for (let next = queue.pop(); next !== undefined; next = queue.pop()) {
    if (next === model) return `"${name}" leads back to "${model.name}"`;
    if (reached.has(next)) continue;
    reached.add(next);
    for (const further of next.fallback) {
      const model = names.find(further);
      if (model !== null) queue.push(model);
    }
  }
  return reached.size >= MAX_CHAIN
    ? `"${name}" leads to more than ${MAX_CHAIN - 2} further virtual models`
    : null;
}

/** Finds virtual models by name: an exact name or alias, else the longest pattern. */
export class VirtualModelNames<T extends LinkedVirtualModel> {
  readonly #exact = new Map<string, T>();
  /** Longest first. */
  readonly #patterns: { readonly prefix: string; readonly model: T }[] = [];

  constructor(models: readonly T[]) {
    for (const model of models) {
      if (model.name.endsWith("*")) this.#patterns.push({ prefix: model.name.slice(0, -1), model });
      for (const name of [model.name, ...model.aliases])
        if (!this.#exact.has(name)) this.#exact.set(name, model);
    }
    this.#patterns.sort((a, b) => b.prefix.length - a.prefix.length);
  }

  get all(): string[] {
    return [...this.#exact.keys()];
  }

  find(name: string): T | null {
    return this.findExact(name) ?? this.findPattern(name);
  }

  findExact(name: string): T | null {
    return this.#exact.get(name) ?? null;
  }

  findPattern(name: string): T | null {
    return this.#patterns.find(({ prefix }) => name.startsWith(prefix))?.model ?? null;
  }
}
