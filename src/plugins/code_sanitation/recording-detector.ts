// A detector for one request that records the languages it finds.
import type { RequestContext } from "../../sdk/index.ts";
import type { Detector, Finding, Language } from "./detector.ts";

/** The first pattern found of each language. */
export type FoundPatterns = readonly (readonly [Language, string])[];

export class RecordingDetector implements Detector {
  readonly #detector: Detector;
  #patterns: Map<Language, string> | null = null;
  /** Each with a semicolon and a space before it. */
  #remarks = "";

  constructor(detector: Detector) {
    this.#detector = detector;
  }

  get patterns(): FoundPatterns {
    return this.#patterns === null ? [] : [...this.#patterns];
  }

  get workDone(): number {
    return this.#detector.workDone;
  }

  limitWork<T>(steps: number, scan: () => T): T {
    return this.#detector.limitWork(steps, scan);
  }

  first(text: string): Finding | null {
    const finding = this.#detector.first(text);
    if (finding !== null) this.#record(finding.language, finding.pattern);
    return finding;
  }

  firstIn(units: Uint16Array, start: number, end: number): Finding | null {
    const finding = this.#detector.firstIn(units, start, end);
    if (finding !== null) this.#record(finding.language, finding.pattern);
    return finding;
  }

  findAll(text: string): Finding[] {
    const findings = this.#detector.findAll(text);
    for (const { language, pattern } of findings) this.#record(language, pattern);
    return findings;
  }

  /** Adds what another detector found in the same request. */
  add(patterns: FoundPatterns): void {
    for (const [language, pattern] of patterns) this.#record(language, pattern);
  }

  /** Adds a text that the request log shows after the patterns. */
  addRemark(remark: string): void {
    this.#remarks = `${this.#remarks}; ${remark}`;
  }

  /** Counts the languages found, and shows the patterns and remarks in the request log. */
  report(context: RequestContext): void {
    let detail = this.#remarks;
    if (this.#patterns !== null) {
      for (const language of this.#patterns.keys()) context.count("found", language);
      detail = `; found ${[...this.#patterns.values()].join(", ")}${detail}`;
    }
    if (detail !== "") context.setDetail(detail.slice(2));
  }

  #record(language: Language, pattern: string): void {
    const patterns = (this.#patterns ??= new Map<Language, string>());
    if (!patterns.has(language)) patterns.set(language, pattern);
  }
}
