// The detector: which code of which language stands where in a text. Compiled once per set of languages.
import { lower } from "./char-classes.ts";
import { NO_MATCH } from "./grammar.ts";
import { patternsOf } from "./languages/by-language.ts";
import { edgeAllows, joinUnlessOpen, type Edge } from "./edge.ts";
import type { Pattern } from "./pattern.ts";
import { Prefilter, type Trigger } from "./prefilter.ts";
import { isAtHand } from "./rule.ts";
import { LANGUAGES } from "./settings.ts";
import { BLOCK, TriggerNotes } from "./trigger-notes.ts";
import { originalSpan, TextUnits, unitAt, type View, type WorkCounter } from "./view.ts";
import { visitViews, type Visit } from "./views.ts";

export type Language = (typeof LANGUAGES)[number];

/** A match, in UTF-16 code units of the text as it came. */
export interface Finding {
  readonly start: number;
  readonly end: number;
  readonly language: Language;
  /** Stable and short, such as `sql.union-select`. */
  readonly pattern: string;
}

export interface Detector {
  /** Some finding, the cheapest to come by; null for clean text. */
  first(text: string): Finding | null;
  /** The same for the text whose code units stand from `start` to `end`; the finding's place counts from `start`. */
  firstIn(units: Uint16Array, start: number, end: number): Finding | null;
  /** All findings by position. They may overlap; one that another of the same reading covers is left out. */
  findAll(text: string): Finding[];
}

/** A pattern as a scan needs it. */
interface Entry {
  readonly language: Language;
  readonly pattern: Pattern;
}
type Hit = Trigger<Entry>;

/** What may stand before any of a state's hits for it to come to something; null for anything. */
interface Gate {
  readonly prev: Edge | null;
  /** Of the triggers, where they have the same. */
  readonly length: number;
}

/** Of the block at hand. */
const notes = new TriggerNotes();

/** Of the text at hand; a scan is synchronous. */
const ownUnits = new TextUnits();

const compiled = new Map<string, Detector>();

/** The detector of these languages; the same one for the same set. `work` counts what its scans do. */
export function compileDetector(languages: readonly Language[], work?: WorkCounter): Detector {
  const wanted = LANGUAGES.filter((language) => languages.includes(language));
  if (work !== undefined) return new PatternDetector(wanted, work);
  const key = wanted.join();
  let detector = compiled.get(key);
  if (detector === undefined) {
    detector = new PatternDetector(wanted, { steps: 0 });
    compiled.set(key, detector);
  }
  return detector;
}

class PatternDetector implements Detector {
  readonly #prefilter: Prefilter<Entry>;
  /** By state of the prefilter: what its hits have in common, so that most are turned away at once. */
  readonly #gates: readonly Gate[];
  readonly #work: WorkCounter;
  /** Made once: a body has many strings, most of them short, and each is looked at by itself. */
  readonly #found: Finding[] = [];
  readonly #visitForFirst: Visit = (view, windows) => this.#scan(view, windows, this.#found, true);

  constructor(languages: readonly Language[], work: WorkCounter) {
    const entries = languages.flatMap((language) =>
      patternsOf(language).map((pattern): Entry => ({ language, pattern })),
    );
    this.#prefilter = new Prefilter(
      withoutTwins(entries).flatMap((subject) =>
        subject.pattern.triggers.map((text) => ({
          text,
          namesDigits: /\d/.test(text),
          subject,
          next: subject.pattern.next,
        })),
      ),
    );
    this.#gates = this.#prefilter.hits.map(gateOf);
    this.#work = work;
  }

  first(text: string): Finding | null {
    return this.firstIn(ownUnits.read(text), 0, text.length);
  }

  firstIn(units: Uint16Array, start: number, end: number): Finding | null {
    this.#found.length = 0;
    visitViews(units, start, end, this.#work, this.#visitForFirst);
    return this.#found[0] ?? null;
  }

  findAll(text: string): Finding[] {
    const found: Finding[] = [];
    const units = ownUnits.read(text);
    visitViews(units, 0, text.length, this.#work, (view, windows) => this.#scan(view, windows, found, false));
    return found.sort((one, other) => one.start - other.start || other.end - one.end);
  }

  #scan(view: View, windows: readonly number[] | null, found: Finding[], onlyFirst: boolean): boolean {
    if (windows === null) return this.#scanStretch(view, 0, view.length, found, onlyFirst);
    for (let index = 0; index + 1 < windows.length; index += 2) {
      const end = Math.min(windows[index + 1] ?? 0, view.length);
      if (this.#scanStretch(view, windows[index] ?? 0, end, found, onlyFirst)) return true;
    }
    return false;
  }

  /** Block by block: first the automaton notes where triggers end, then grammars look. */
  #scanStretch(view: View, from: number, to: number, found: Finding[], onlyFirst: boolean): boolean {
    view.work.steps += to - from;
    notes.state = 0;
    let covered = 0;
    // A trigger is told by the unit behind it, the last one by the unit behind the stretch.
    for (let start = from; start <= to; start += BLOCK) {
      notes.take(this.#prefilter, view.codes, start, Math.min(start + BLOCK, to + 1));
      covered = this.#matchNoted(view, found, covered);
      if (onlyFirst && found.length > 0) return true;
    }
    return false;
  }

  /** Answers how far findings cover the view now. */
  #matchNoted(view: View, found: Finding[], covered: number): number {
    const { hits } = this.#prefilter;
    const { ends, states, count } = notes;
    const gates = this.#gates;
    let farthest = covered;
    for (let noted = 0; noted < count; noted++) {
      const end = ends[noted] as number;
      const state = states[noted] as number;
      const { prev, length } = gates[state] as Gate;
      if (end <= farthest || (prev !== null && !edgeAllows(prev, unitAt(view, end - length - 1)))) continue;
      farthest = this.#matchAll(view, hits[state] ?? [], end, found, farthest);
    }
    return farthest;
  }

  /** Tries the grammars of all triggers that end here; answers how far findings cover the view now. */
  #matchAll(view: View, here: readonly Hit[], end: number, found: Finding[], covered: number): number {
    let farthest = covered;
    const nextUnit = unitAt(view, end);
    view.work.steps += here.length;
    for (let index = 0; index < here.length; index++) {
      const { text, namesDigits, subject } = here[index] as Hit;
      const { prev, next, needed, guard, before, after } = subject.pattern;
      if (next !== null && !edgeAllows(next, nextUnit)) continue;
      if (!isAtHand(needed, view, end)) continue;
      const trigger = end - text.length;
      if (namesDigits && !isSpelledAt(view, trigger, text)) continue;
      if (prev !== null && !edgeAllows(prev, unitAt(view, trigger - 1))) continue;
      if (guard !== null && guard(view, trigger) === NO_MATCH) continue;
      const stop = after === null ? end : after(view, end);
      if (stop === NO_MATCH) continue;
      const start = before === null ? trigger : before(view, trigger);
      if (start === NO_MATCH) continue;
      const span = originalSpan(view, start, stop);
      found.push({ ...span, language: subject.language, pattern: subject.pattern.id });
      farthest = Math.max(farthest, stop);
    }
    return farthest;
  }
}

function isSpelledAt(view: View, at: number, text: string): boolean {
  for (let index = 0; index < text.length; index++)
    if (lower(unitAt(view, at + index)) !== lower(text.charCodeAt(index))) return false;
  return true;
}

/** Of a state without hits, where nothing is noted. */
const NO_GATE: Gate = { prev: null, length: 0 };

function gateOf(hits: readonly Hit[]): Gate {
  const [only] = hits;
  if (only === undefined) return NO_GATE;
  if (hits.length === 1) return { prev: only.subject.pattern.prev, length: only.text.length };
  const lengths = new Set(hits.map(({ text }) => text.length));
  const [length = 0] = lengths;
  // Triggers of different lengths start at different places, where one edge cannot speak for all.
  const prev = lengths.size === 1 ? joinUnlessOpen(hits.map(({ subject }) => subject.pattern.prev)) : null;
  return { prev, length };
}

/** JavaScript and HTML share patterns; where both are on, one of each pair is enough. */
function withoutTwins(entries: readonly Entry[]): Entry[] {
  const kept: Entry[] = [];
  const byTriggers = new Map<string, Pattern[]>();
  for (const entry of entries) {
    const { pattern } = entry;
    const triggers = pattern.triggers.join("\0");
    const known = byTriggers.get(triggers) ?? [];
    if (known.some((other) => areTwins(pattern, other))) continue;
    byTriggers.set(triggers, [...known, pattern]);
    kept.push(entry);
  }
  return kept;
}

/** Of two patterns with the same triggers. */
function areTwins(one: Pattern, other: Pattern): boolean {
  return (
    one.after === other.after &&
    one.before === other.before &&
    one.guard === other.guard &&
    one.prev === other.prev &&
    String(one.next) === String(other.next)
  );
}
