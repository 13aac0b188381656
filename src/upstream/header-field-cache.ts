// The header lines of a provider's last answer. Most lines of the next one are the same and need not be read again.

/** Lines of longer heads are not kept: each may hold on to all of its head. */
const MAX_HEAD = 4096;
const MAX_LINES = 64;
const CR = 0x0d;
const LF = 0x0a;

export class HeaderFieldCache {
  readonly #lines: string[] = [];
  readonly #names: string[] = [];
  readonly #values: string[] = [];

  /** Where the line that begins at `start` ends, if it is the one known at this place; -1 for any other. */
  endOf(place: number, head: string, start: number): number {
    const line = this.#lines[place];
    if (line === undefined || !head.startsWith(line, start)) return -1;
    const end = start + line.length;
    if (end === head.length) return end;
    return head.charCodeAt(end) === CR && head.charCodeAt(end + 1) === LF ? end : -1;
  }

  nameOf(place: number): string {
    return this.#names[place] as string;
  }

  valueOf(place: number): string {
    return this.#values[place] as string;
  }

  /** A line that was found to be well formed. */
  keep(place: number, head: string, start: number, end: number, name: string, value: string): void {
    // Places are filled in their order.
    if (head.length > MAX_HEAD || place > this.#lines.length || place >= MAX_LINES) return;
    this.#lines[place] = head.slice(start, end);
    this.#names[place] = name;
    this.#values[place] = value;
  }
}
