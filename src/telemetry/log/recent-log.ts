// The recent lines of the log of this process, and the listeners that follow it. Lines of requests are not among them: they are
// in the request log.
import { LOG_LEVELS, type LogLevel } from "./log-levels.ts";

/** Lines from `warn` on are kept apart from the others, so that many of those do not push them out. Each part has these limits. */
export const MAX_KEPT_LINES = 1000;
export const MAX_KEPT_CHARACTERS = 512 * 1024;
export const MAX_LOG_LISTENERS = 32;

export interface RecentLine {
  readonly level: LogLevel;
  /** RFC 3339 UTC. */
  readonly time: string;
  /** One JSON object, redacted. */
  readonly line: string;
}

export interface LogListener {
  /** Lines of this level and above. */
  readonly level: LogLevel;
  onLine(line: RecentLine): void;
  /** Called when the process stops; `onLine` is not called afterwards. */
  onClose(): void;
}

/** The lines of this process, or of all worker processes. */
export interface LogSource {
  /** Returns the last lines of this level and above, newest first. */
  listLines(level: LogLevel, limit: number): Promise<readonly RecentLine[]>;
  /** Returns a function that stops following, or null if MAX_LOG_LISTENERS is reached. */
  followLines(listener: LogListener): (() => void) | null;
}

export class RecentLog implements LogSource {
  readonly #low = new KeptLines();
  readonly #high = new KeptLines();
  readonly #listeners = new Set<LogListener>();
  #added = 0;

  add(line: RecentLine): void {
    (isAtLeast(line, "warn") ? this.#high : this.#low).add({ ...line, number: ++this.#added });
    for (const listener of this.#listeners) if (isAtLeast(line, listener.level)) listener.onLine(line);
  }

  listLines(lowest: LogLevel, limit: number): Promise<readonly RecentLine[]> {
    const found = [...this.#high.lines, ...this.#low.lines].filter((each) => isAtLeast(each, lowest));
    const newest = found.sort((a, b) => b.number - a.number).slice(0, limit);
    return Promise.resolve(newest.map(({ level, time, line }) => ({ level, time, line })));
  }

  followLines(listener: LogListener): (() => void) | null {
    if (this.#listeners.size >= MAX_LOG_LISTENERS) return null;
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** Ends all listeners when the process stops. */
  close(): void {
    for (const listener of this.#listeners) listener.onClose();
    this.#listeners.clear();
  }
}

/** Several lines may have the same time; their numbers have their order. */
interface NumberedLine extends RecentLine {
  readonly number: number;
}

class KeptLines {
  /** Oldest first. */
  readonly lines: NumberedLine[] = [];
  #characters = 0;

  add(added: NumberedLine): void {
    this.lines.push(added);
    this.#characters += added.line.length;
    while (this.lines.length > MAX_KEPT_LINES || this.#characters > MAX_KEPT_CHARACTERS)
      this.#characters -= this.lines.shift()?.line.length ?? 0;
  }
}

function isAtLeast({ level }: RecentLine, lowest: LogLevel): boolean {
  return LOG_LEVELS.indexOf(level) >= LOG_LEVELS.indexOf(lowest);
}

/** Merges lists of lines, newest first. Lines of one list that have the same time keep their order. */
export function mergeLines(lists: readonly (readonly RecentLine[])[], limit: number): RecentLine[] {
  const lines = lists.flat().sort((a, b) => (a.time === b.time ? 0 : a.time < b.time ? 1 : -1));
  return lines.slice(0, limit);
}
