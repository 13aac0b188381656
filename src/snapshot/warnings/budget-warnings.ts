// Warnings about budgets that reject every request, count none, or whose webhook is never called.
import type { Budget } from "../../model/budget.ts";
import type { DocumentParts } from "../../kinds/kind.ts";
import { matchesAny, servedModels } from "./served-models.ts";
import type { ConfigurationWarning } from "./warning.ts";

/** An API key as budgets see it. */
export interface CountedKey {
  /** Empty for a key that is not stored yet. */
  readonly id: string;
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
}

interface Problem {
  readonly path: string;
  readonly message: string;
}

/** `keys` are the active keys of the gateway; null if they are not known. */
export function budgetWarnings(
  parts: DocumentParts,
  keys: readonly CountedKey[] | null,
): ConfigurationWarning[] {
  // Tokens of these issuers have ids, names and labels that are in no configuration.
  const knownKeys = parts.gateway.jwt_issuers.length > 0 ? null : keys;
  if (parts.budgets.length === 0) return [];
  const served = servedNames(parts);
  return parts.budgets.flatMap((budget) =>
    [
      ...valueProblems(budget),
      ...(knownKeys === null ? [] : keyProblems(budget, knownKeys)),
      ...(served === null ? [] : modelProblems(budget, served)),
    ].map(({ path, message }) => ({ places: [{ recordId: budget.id, path }], message })),
  );
}

function valueProblems({ amount, mode, warn_at, webhook }: Budget): Problem[] {
  const problems: Problem[] = [];
  if (Number(amount) === 0 && mode === "enforce") {
    const message = "the amount is 0, so that all requests that cost something are rejected";
    problems.push({ path: "amount", message });
  }
  if (webhook !== null && warn_at.length === 0)
    problems.push({ path: "webhook", message: "the webhook is never called, because warn_at is empty" });
  return problems;
}

function keyProblems({ scope, label, value, each }: Budget, keys: readonly CountedKey[]): Problem[] {
  const result = "the budget counts no request";
  if (scope === "api_key" && !each && keys.every(({ id, name }) => id !== value && name !== value))
    return [{ path: "value", message: `no active API key has the id or name "${value}"; ${result}` }];
  if (scope !== "label" || label === null) return [];
  const values = keys.flatMap(({ labels }) => (Object.hasOwn(labels, label) ? [labels[label]] : []));
  if (values.length === 0)
    return [{ path: "label", message: `no active API key has the label ${label}; ${result}` }];
  if (each || values.includes(value ?? "")) return [];
  const message = `no active API key has the label ${label} with the value "${value}"; ${result}`;
  return [{ path: "value", message }];
}

function modelProblems({ scope, value, models }: Budget, served: ReadonlySet<string>): Problem[] {
  const patterns =
    scope === "model" && value !== null
      ? [{ path: "value", pattern: value }]
      : (models ?? []).map((pattern, index) => ({ path: `models[${index}]`, pattern }));
  return patterns.flatMap(({ path, pattern }) =>
    matchesAny(pattern, served) ? [] : [{ path, message: `no target serves "${pattern}"` }],
  );
}

/** Returns null if any model may be served, or if there are no targets yet. */
function servedNames({ upstreams, models }: DocumentParts): ReadonlySet<string> | null {
  const served = upstreams.map(servedModels);
  if (served.length === 0 || served.some(({ all }) => all)) return null;
  if (models.some(({ name }) => name.endsWith("*"))) return null;
  const virtual = models.flatMap(({ name, targets, canary, mirror }) =>
    [{ model: name }, ...targets, canary?.target, mirror?.target].flatMap((target) => target?.model ?? []),
  );
  return new Set([...served.flatMap(({ names }) => [...names]), ...virtual]);
}
