// A game day in the form that requests are compared with.
import type { GameDay } from "../model/game-day.ts";
import { ModelAllowList } from "./model-allow-list.ts";

/** What a game day looks at in a request. */
interface MatchableRequest {
  readonly ruleId: string;
  readonly apiKey: { readonly id: string; readonly labelValues: Readonly<Record<string, string>> } | null;
  readonly model: string | null;
  /** Names are in lower case. */
  readonly headerOf: (name: string) => string | null;
}

export class CompiledGameDay {
  readonly record: GameDay;
  /** Unix milliseconds. */
  readonly startsAt: number;
  readonly endsAt: number;
  readonly #rules: ReadonlySet<string>;
  readonly #keys: ReadonlySet<string>;
  readonly #labels: readonly (readonly [string, string])[];
  /** Null: all models. */
  readonly #models: ModelAllowList | null;
  readonly #headers: readonly (readonly [string, string])[];

  constructor(record: GameDay) {
    const { rules, keys, labels, models, headers } = record.match;
    this.record = record;
    this.startsAt = Date.parse(record.starts_at ?? record.created_at);
    this.endsAt = Date.parse(record.ends_at);
    this.#rules = new Set(rules);
    this.#keys = new Set(keys);
    this.#labels = Object.entries(labels);
    this.#models = models.length === 0 ? null : new ModelAllowList(models);
    this.#headers = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]);
  }

  /** Whether all conditions hold, apart from the share. */
  matches({ ruleId, apiKey, model, headerOf }: MatchableRequest): boolean {
    if (this.#rules.size > 0 && !this.#rules.has(ruleId)) return false;
    if (this.#keys.size > 0 && (apiKey === null || !this.#keys.has(apiKey.id))) return false;
    if (!this.#labels.every(([name, value]) => apiKey?.labelValues[name] === value)) return false;
    if (this.#models !== null && (model === null || !this.#models.allows(model))) return false;
    return this.#headers.every(([name, value]) => {
      const sent = headerOf(name);
      return sent !== null && (value === "*" || value === sent);
    });
  }
}

/** Returns the game days that may still run; null if there are none. */
export function compileGameDays(
  records: readonly GameDay[],
  now: number = Date.now(),
): readonly CompiledGameDay[] | null {
  const active = records.filter(({ enabled, ends_at }) => enabled && Date.parse(ends_at) > now);
  return active.length === 0 ? null : active.map((record) => new CompiledGameDay(record));
}
