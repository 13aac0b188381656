// How the commands look on a terminal: colours, tables and progress. On anything else they are plain text.

type Stream = Pick<NodeJS.WriteStream, "isTTY" | "write" | "columns">;

const CODES = { bold: 1, dim: 2, red: 31, green: 32, yellow: 33, cyan: 36 } as const;
export type Style = keyof typeof CODES;

/** Only on a terminal that knows colours, and never against NO_COLOR (no-color.org: any text but an empty one). */
export function usesColour(stream: Pick<Stream, "isTTY">): boolean {
  const { NO_COLOR = "", TERM } = process.env;
  return stream.isTTY && NO_COLOR === "" && TERM !== "dumb";
}

export function paint(style: Style, text: string, stream: Pick<Stream, "isTTY"> = process.stdout): string {
  return usesColour(stream) ? `\x1b[${CODES[style]}m${text}\x1b[0m` : text;
}

/** Columns as wide as their widest cell; the last one is left as it is. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = head.map((title, column) =>
    Math.max(Bun.stringWidth(title), ...rows.map((row) => Bun.stringWidth(row[column] ?? ""))),
  );
  const line = (cells: readonly string[]) =>
    cells
      .map((cell, column) => (column === cells.length - 1 ? cell : pad(cell, widths[column] ?? 0)))
      .join("  ")
      .trimEnd();
  return [paint("dim", line(head)), ...rows.map(line)].join("\n");
}

/** `name     value`, line by line. */
export function fields(pairs: readonly (readonly [name: string, value: string])[]): string {
  const width = Math.max(...pairs.map(([name]) => name.length));
  return pairs.map(([name, value]) => `${paint("dim", pad(name, width))}  ${value}`).join("\n");
}

export function pad(text: string, width: number): string {
  return text + " ".repeat(Math.max(0, width - Bun.stringWidth(text)));
}

const BAR_WIDTH = 24;

/** How far long work has come: one line on stderr that is written anew, and nothing where nobody looks. */
export class Progress {
  readonly #stream: Stream;
  #label = "";

  constructor(stream: Stream = process.stderr) {
    this.#stream = stream;
  }

  /** `share` from 0 to 1. */
  show(label: string, share: number): void {
    this.#label = label;
    if (!this.#stream.isTTY) return;
    const full = Math.round(Math.min(1, Math.max(0, share)) * BAR_WIDTH);
    const bar = "█".repeat(full) + "░".repeat(BAR_WIDTH - full);
    this.#stream.write(`\r\x1b[K${bar} ${label}`);
  }

  /** Runs `work`, which takes about this long, and moves from one share to another meanwhile. */
  async during<T>(label: string, from: number, to: number, ms: number, work: () => Promise<T>): Promise<T> {
    const startedAt = performance.now();
    const tick = () =>
      this.show(label, from + (to - from) * Math.min(1, (performance.now() - startedAt) / ms));
    tick();
    const timer = setInterval(tick, 100);
    try {
      return await work();
    } finally {
      clearInterval(timer);
    }
  }

  end(): void {
    if (this.#label !== "" && this.#stream.isTTY) this.#stream.write("\r\x1b[K");
    this.#label = "";
  }
}
