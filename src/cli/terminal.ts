// Terminal output of the commands: colors and tables. Plain text if the output is not a terminal.

type Stream = Pick<NodeJS.WriteStream, "isTTY">;

const CODES = { bold: 1, dim: 2, red: 31, green: 32, yellow: 33, cyan: 36 } as const;
type Style = keyof typeof CODES;

/** Returns true on a terminal with colors, unless NO_COLOR is set to a non-empty value (no-color.org). */
export function usesColor(stream: Stream): boolean {
  const { NO_COLOR = "", TERM } = process.env;
  return stream.isTTY && NO_COLOR === "" && TERM !== "dumb";
}

export function paint(style: Style, text: string, stream: Stream = process.stdout): string {
  return usesColor(stream) ? `\x1b[${CODES[style]}m${text}\x1b[0m` : text;
}

/** Pads columns to their widest cell, except the last one. */
export function table(titles: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = titles.map((title, column) =>
    Math.max(Bun.stringWidth(title), ...rows.map((row) => Bun.stringWidth(row[column] ?? ""))),
  );
  const line = (cells: readonly string[]) =>
    cells
      .map((cell, column) => (column === cells.length - 1 ? cell : pad(cell, widths[column] ?? 0)))
      .join("  ")
      .trimEnd();
  return [paint("dim", line(titles)), ...rows.map(line)].join("\n");
}

/** Returns one line `name     value` per pair, with aligned values. */
export function fields(pairs: readonly (readonly [name: string, value: string])[]): string {
  const width = Math.max(...pairs.map(([name]) => name.length));
  return pairs.map(([name, value]) => `${paint("dim", pad(name, width))}  ${value}`).join("\n");
}

export function pad(text: string, width: number): string {
  return text + " ".repeat(Math.max(0, width - Bun.stringWidth(text)));
}

/** Replaces control characters: text from documents, records, and clients must not control the terminal. */
export function printable(text: string): string {
  return text.replaceAll(/[\u0000-\u001F\u007F-\u009F]/g, "\uFFFD");
}
