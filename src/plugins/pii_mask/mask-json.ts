// Masks the strings of a JSON text, or of lines of JSON, as they are read and not as they are escaped.
import { JsonStrings } from "../../sdk/index.ts";

/** Returns a masked string. `name`: the name of the field that has it; absent for a name itself. */
type MaskString = (value: string, name?: string) => string;

/** Returns null if the text is neither JSON nor lines of JSON. */
export function maskJson(text: string, mask: MaskString): string | null {
  if (!text.isWellFormed()) return null;
  if (isJson(text)) return maskStrings(text, mask);
  const lines = text.split("\n");
  return lines.length > 1 && lines.every((line) => line.trim() === "" || isJson(line))
    ? maskStrings(text, mask)
    : null;
}

function maskStrings(text: string, mask: MaskString): string {
  const bytes = Buffer.from(text);
  const strings = new JsonStrings(bytes);
  let masked = "";
  let from = 0;
  let name = "";
  while (strings.next()) {
    const value = String(JSON.parse(bytes.toString("utf8", strings.start - 1, strings.end + 1)));
    const isName = isKey(bytes, strings.end + 1);
    const replaced = isName ? mask(value) : mask(value, name);
    if (isName) name = value;
    if (replaced === value) continue;
    masked += bytes.toString("utf8", from, strings.start - 1) + JSON.stringify(replaced);
    from = strings.end + 1;
  }
  return masked + bytes.toString("utf8", from);
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** Whether the string that ends at `at` is a key. */
function isKey(bytes: Uint8Array, at: number): boolean {
  let next = at;
  while (bytes[next] === 0x20 || bytes[next] === 0x0a || bytes[next] === 0x0d || bytes[next] === 0x09) next++;
  return bytes[next] === 0x3a;
}
