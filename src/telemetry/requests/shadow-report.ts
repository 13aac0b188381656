// What a plugin in shadow mode would have done: counts, and the last requests on which it would have had an effect.

/** `skipped`: the plugin did not run, because a limit of shadow mode was reached or the body was not in memory. */
export const SHADOW_OUTCOMES = ["passed", "changed", "responded", "failed", "timed_out", "skipped"] as const;
export type ShadowOutcome = (typeof SHADOW_OUTCOMES)[number];

const MAX_SAMPLES = 100;
/** A plugin may respond with any status. */
const MAX_STATUSES = 50;

/** What a plugin in shadow mode would have done with one request. */
export interface ShadowResult {
  readonly outcome: ShadowOutcome;
  /** The status with which the plugin would have responded; null if it would not have responded. */
  readonly status: number | null;
  readonly detail: string | null;
  /** Of `name@next`: whether both versions did the same. Null for an entry in shadow mode. */
  readonly agrees: boolean | null;
  readonly ms: number;
}

/** A result in the request log. */
export interface ShadowRun extends ShadowResult {
  readonly name: string;
  readonly stage: string;
}

interface ShadowSample extends ShadowResult {
  readonly request_id: string;
  readonly time: string;
}

interface ShadowCounts {
  /** Requests on which the plugin ran. */
  readonly ran: number;
  readonly passed: number;
  readonly changed: number;
  readonly responded: number;
  readonly failed: number;
  readonly timed_out: number;
  readonly skipped: number;
  /** Of `name@next`, compared with `name`. */
  readonly agreed: number;
  readonly disagreed: number;
}

/** A report as it is sent to other processes and merged. */
export interface ShadowReportData {
  readonly problem: string | null;
  readonly since: string | null;
  readonly counts: ShadowCounts;
  /** How often the plugin would have responded with each status. */
  readonly statuses: Readonly<Record<string, number>>;
  /** Newest first. */
  readonly samples: readonly ShadowSample[];
}

type MutableCounts = { -readonly [Name in keyof ShadowCounts]: number };

const NO_COUNTS: ShadowCounts = {
  ran: 0,
  passed: 0,
  changed: 0,
  responded: 0,
  failed: 0,
  timed_out: 0,
  skipped: 0,
  agreed: 0,
  disagreed: 0,
};

export const EMPTY_SHADOW_REPORT: ShadowReportData = {
  problem: null,
  since: null,
  counts: NO_COUNTS,
  statuses: {},
  samples: [],
};

/** A sample, which is formatted when the report is read: most samples are displaced by others before. */
interface KeptSample {
  readonly result: ShadowResult;
  readonly requestId: string;
  readonly unixMs: number;
}

/** The report of one plugin entry in this process. Outlives changes of the configuration. */
export class ShadowReport {
  readonly #counts: MutableCounts = { ...NO_COUNTS };
  readonly #statuses = new Map<string, number>();
  /** Oldest first. */
  readonly #samples: KeptSample[] = [];
  /** Unix milliseconds of the first result. */
  #since: number | null = null;
  /** Why the next version cannot run with the settings of the entry; null if it can. */
  problem: string | null = null;

  /** Adds the result of a request at this time. It must not change any more. */
  add(result: ShadowResult, requestId: string, unixMs: number): void {
    this.#since ??= unixMs;
    const { outcome, status, agrees } = result;
    if (outcome !== "skipped") this.#counts.ran++;
    this.#counts[outcome]++;
    if (agrees !== null) this.#counts[agrees ? "agreed" : "disagreed"]++;
    if (status !== null) this.#countStatus(String(status));
    const isNoteworthy = agrees === null ? outcome !== "passed" && outcome !== "skipped" : !agrees;
    if (!isNoteworthy) return;
    this.#samples.push({ result, requestId, unixMs });
    if (this.#samples.length > MAX_SAMPLES) this.#samples.shift();
  }

  get data(): ShadowReportData {
    return {
      problem: this.problem,
      since: this.#since === null ? null : textOf(this.#since),
      counts: { ...this.#counts },
      statuses: Object.fromEntries(this.#statuses),
      samples: this.#samples.map(sampleOf).reverse(),
    };
  }

  #countStatus(status: string): void {
    const count = this.#statuses.get(status);
    if (count !== undefined || this.#statuses.size < MAX_STATUSES)
      this.#statuses.set(status, (count ?? 0) + 1);
  }
}

function sampleOf({ result, requestId, unixMs }: KeptSample): ShadowSample {
  const { outcome, status, detail, agrees, ms } = result;
  const rounded = Math.round(ms * 100) / 100;
  return { request_id: requestId, time: textOf(unixMs), outcome, status, detail, agrees, ms: rounded };
}

function textOf(unixMs: number): string {
  return new Date(unixMs).toISOString();
}

/** Merges the reports of several processes about one entry. */
export function mergeShadowReports(reports: readonly ShadowReportData[]): ShadowReportData {
  const counts: MutableCounts = { ...NO_COUNTS };
  const statuses = new Map<string, number>();
  for (const report of reports) {
    for (const name of COUNT_NAMES) counts[name] += report.counts[name];
    for (const [status, count] of Object.entries(report.statuses))
      statuses.set(status, (statuses.get(status) ?? 0) + count);
  }
  const samples = reports.flatMap((report) => report.samples);
  samples.sort((a, b) => (a.time < b.time ? 1 : a.time > b.time ? -1 : 0));
  const times = reports.flatMap(({ since }) => since ?? []).sort();
  return {
    problem: reports.find(({ problem }) => problem !== null)?.problem ?? null,
    since: times[0] ?? null,
    counts,
    statuses: Object.fromEntries(statuses),
    samples: samples.slice(0, MAX_SAMPLES),
  };
}

const COUNT_NAMES = Object.keys(NO_COUNTS) as (keyof ShadowCounts)[];
