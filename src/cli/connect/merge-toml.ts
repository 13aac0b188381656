// Sets strings in the text of a TOML file: some before the first table, some in one table. Comments and everything else stay as
// they are. The result is parsed and compared with what was intended, so a spelling that is not understood is an error.
import { mergePatch } from "../../base/json.ts";

interface TomlSettings {
  /** Keys before the first table. */
  readonly root: Readonly<Record<string, string>>;
  readonly table: readonly [parent: string, name: string];
  /** Keys of the table. */
  readonly fields: Readonly<Record<string, string>>;
}

const HEADER = /^\s*\[/;

/** Throws if the text is not understood. */
export function mergeToml(before: string, { root, table, fields }: TomlSettings): string {
  const parsed = parse(before);
  const [parent, name] = table;
  const intended = mergePatch(parsed, { ...root, [parent]: { [name]: fields } });
  if (Bun.deepEquals(parsed, intended)) return before;
  const lines = before === "" ? [] : before.replace(/\r?\n$/, "").split(/\r?\n/);
  setAll(lines, 0, root);
  const isHeader = new RegExp(String.raw`^\s*\[\s*${parent}\s*\.\s*${name}\s*\]\s*(?:#.*)?$`);
  let header = lines.findIndex((line) => isHeader.test(line));
  if (header === -1) header = lines.push("", `[${parent}.${name}]`) - 1;
  setAll(lines, header + 1, fields);
  const after = lines.join(before.includes("\r\n") ? "\r\n" : "\n") + "\n";
  if (!Bun.deepEquals(parse(after), intended))
    throw new Error(`it sets ${parent}.${name} in a way that is not understood`);
  return after;
}

/** Changes the keys between `start` and the next table, and inserts those that are missing. */
function setAll(lines: string[], start: number, values: Readonly<Record<string, string>>): void {
  const missing: string[] = [];
  for (const [key, value] of Object.entries(values)) {
    const text = `${key} = ${JSON.stringify(value)}`;
    const end = endOfTable(lines, start);
    const pattern = new RegExp(String.raw`^\s*${key}\s*=\s*(?:"(?:[^"\\]|\\.)*"|'[^']*')(\s*#.*|\s*)$`);
    const index = lines.slice(start, end).findIndex((line) => pattern.test(line));
    if (index === -1) missing.push(text);
    else lines[start + index] = (text + (pattern.exec(lines[start + index] ?? "")?.[1] ?? "")).trimEnd();
  }
  if (missing.length === 0) return;
  const next = lines[start];
  if (next !== undefined && HEADER.test(next)) missing.push("");
  lines.splice(start, 0, ...missing);
}

function endOfTable(lines: readonly string[], start: number): number {
  const length = lines.slice(start).findIndex((line) => HEADER.test(line));
  return length === -1 ? lines.length : start + length;
}

function parse(text: string): unknown {
  try {
    return Bun.TOML.parse(text);
  } catch {
    throw new Error("it is not valid TOML, or a key of it cannot be changed");
  }
}
