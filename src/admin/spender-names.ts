// The names of the API keys that have used most of a budget. Usage keeps the last names of deleted keys.
import { SHARED_SUBJECT } from "../runtime/budget-subjects.ts";
import type { CurrentConfiguration } from "../runtime/current-configuration.ts";
import type { CompiledBudget } from "../snapshot/compiled-budget.ts";

const DAY_MS = 86_400_000;
/** More keys than a budget has amounts for. */
const MAX_KEYS = 20_000;

/** By subject; subjects that are no API keys are left out. `since`: the start of the period, in Unix milliseconds. */
export type SpenderNames = (
  gatewayId: string,
  budget: CompiledBudget,
  spenders: readonly { readonly subject: string }[],
  since: number,
) => Promise<ReadonlyMap<string, string>>;

/** `flush` writes the usage that this process has counted. */
export function spenderNames(current: CurrentConfiguration, flush: () => Promise<void>): SpenderNames {
  return async (gatewayId, { record }, spenders, since) => {
    const subjects = spenders.map(({ subject }) => subject);
    const names = new Map<string, string>();
    for (const subject of subjects) {
      const key = current.snapshot.apiKeysById.get(subject);
      if (key !== undefined) names.set(subject, key.name);
    }
    const isKnown = (subject: string) => names.has(subject) || subject === SHARED_SUBJECT;
    if (record.scope !== "api_key" || subjects.every(isKnown)) return names;
    await flush();
    // The day before: periods begin in any time zone.
    const from = since <= DAY_MS ? "0000-01-01" : new Date(since - DAY_MS).toISOString().slice(0, 10);
    const query = { gatewayId, from, to: "9999-12-31", groupBy: ["api_key"] as const, limit: MAX_KEYS };
    for (const { api_key_id: id, api_key: name } of await current.store.sumUsage(query))
      if (typeof id === "string" && typeof name === "string" && subjects.includes(id)) names.set(id, name);
    return names;
  };
}
