// Records what is found in a request, for the response, the log and the metrics. Never contains text of the request.
import type { PluginContext } from "../../sdk/index.ts";
import type { Detector, Finding } from "./detector.ts";
import type { Language, Role } from "./settings.ts";

/** Where the inspected text is located in the request. */
interface Place {
  /** `messages[2].content` for a string of a JSON body, otherwise `body`, `path`, `query` or `headers.x-note`. */
  readonly path: string;
  /** The role of the message; null outside of JSON bodies. */
  readonly role: Role | null;
}

/** A finding and its place. `start` and `end` are UTF-16 code units of the decoded text at the place. */
export type FoundCode = Finding & Place;

/** A finding as it is reported to the client and logged. */
export interface FindingDetail extends Place {
  readonly message: string;
  readonly language: Language;
  readonly pattern: string;
  readonly position: { readonly start: number; readonly end: number };
}

/** A detector for one request that records the first finding of each language. */
export class RecordingDetector implements Detector {
  readonly #detector: Detector;
  #found: Map<Language, FoundCode> | null = null;
  /** The findings whose place is not known yet. */
  #unplaced: Finding[] | null = null;
  /** Each with a semicolon and a space before it. */
  #remarks = "";

  constructor(detector: Detector) {
    this.#detector = detector;
  }

  get isEmpty(): boolean {
    return this.#found === null;
  }

  get found(): readonly FoundCode[] {
    return this.#found === null ? [] : [...this.#found.values()];
  }

  get details(): FindingDetail[] {
    return this.found.map(({ path, role, language, pattern, start, end }) => ({
      path,
      message: `matches the pattern ${pattern}`,
      language,
      pattern,
      role,
      position: { start, end },
    }));
  }

  get workDone(): number {
    return this.#detector.workDone;
  }

  limitWork<T>(steps: number, scan: () => T): T {
    return this.#detector.limitWork(steps, scan);
  }

  countWork(steps: number): void {
    this.#detector.countWork(steps);
  }

  first(text: string): Finding | null {
    const finding = this.#detector.first(text);
    if (finding !== null) this.#record(finding);
    return finding;
  }

  isCleanJson(bytes: Buffer, start: number, end: number): boolean {
    return this.#detector.isCleanJson(bytes, start, end);
  }

  firstIn(units: Uint16Array, start: number, end: number): Finding | null {
    const finding = this.#detector.firstIn(units, start, end);
    if (finding !== null) this.#record(finding);
    return finding;
  }

  findAll(text: string): Finding[] {
    return this.#recordAll(this.#detector.findAll(text));
  }

  findAllIn(units: Uint16Array, start: number, end: number): Finding[] {
    return this.#recordAll(this.#detector.findAllIn(units, start, end));
  }

  /** Sets the place of all findings since the last call. `locate` is called only if there are any. */
  place(locate: () => Place): void {
    if (this.#unplaced === null) return;
    const place = locate();
    const found = (this.#found ??= new Map<Language, FoundCode>());
    for (const finding of this.#unplaced) found.set(finding.language, { ...finding, ...place });
    this.#unplaced = null;
  }

  #recordAll(findings: Finding[]): Finding[] {
    for (const finding of findings) this.#record(finding);
    return findings;
  }

  #record(finding: Finding): void {
    const { language } = finding;
    if (this.#found?.has(language) === true) return;
    const unplaced = (this.#unplaced ??= []);
    if (!unplaced.some((each) => each.language === language)) unplaced.push(finding);
  }

  /** Adds what was found in the same request by another thread. */
  add(found: readonly FoundCode[]): void {
    for (const { path, role, ...finding } of found) {
      this.#record(finding);
      this.place(() => ({ path, role }));
    }
  }

  /** Adds a text that the request log shows after the findings. */
  addRemark(remark: string): void {
    this.#remarks = `${this.#remarks}; ${remark}`;
  }

  /** Counts the languages found, and shows the findings and remarks in the request log. */
  report(context: Pick<PluginContext, "count" | "setDetail">): void {
    let detail = this.#remarks;
    if (this.#found !== null) {
      for (const language of this.#found.keys()) context.count("found", language);
      detail = `; found ${this.found.map(describe).join(", ")}${detail}`;
    }
    if (detail !== "") context.setDetail(detail.slice(2));
  }
}

/** `sql.union-select in messages[2].content 14-26 (tool)`. */
function describe({ pattern, path, role, start, end }: FoundCode): string {
  return `${pattern} in ${path} ${start}-${end}${role === null ? "" : ` (${role})`}`;
}
