// Searches the texts of a request body, and replaces what is found by placeholders.
import { JsonStrings, RequestTexts, type RequestText } from "../../sdk/index.ts";
import { compileDetector, type Detect } from "./detect.ts";
import type { Finding } from "./finding.ts";
import type { ValuesOfType } from "./masked-values.ts";
import { Placeholders } from "./placeholders.ts";
import type { PiiMaskSettings } from "./settings.ts";

export interface SearchedBody {
  /** The masked body; null if it stays as it is. */
  readonly body: Uint8Array | null;
  readonly values: readonly ValuesOfType[];
  /** Number of findings by type. */
  readonly counts: ReadonlyMap<string, number>;
  /** The field because of which the request cannot be masked: the provider keeps the conversation. Else null. */
  readonly keptConversation: string | null;
}

type Selection = Pick<PiiMaskSettings, "types" | "custom" | "roles" | "action">;

/** Compiles the settings into a function that searches one body. */
export function compileSearch(settings: Selection): (body: Uint8Array) => SearchedBody {
  const detect = compileDetector(settings);
  const roles = new Set<string>(settings.roles);
  const isMasking = settings.action === "mask" && settings.types.length + settings.custom.length > 0;
  return (body) => new BodySearch(detect, roles, isMasking).run(body);
}

class BodySearch {
  readonly #detect: Detect;
  readonly #roles: ReadonlySet<string>;
  readonly #isMasking: boolean;
  readonly #placeholders = new Placeholders();
  readonly #counts = new Map<string, number>();

  constructor(detect: Detect, roles: ReadonlySet<string>, isMasking: boolean) {
    this.#detect = detect;
    this.#roles = roles;
    this.#isMasking = isMasking;
  }

  run(body: Uint8Array): SearchedBody {
    const texts = RequestTexts.read(body);
    const keptConversation = this.#isMasking ? (texts?.keptConversation ?? null) : null;
    if (keptConversation !== null) return { body: null, values: [], counts: this.#counts, keptConversation };
    const replacements = new Map<number, string>();
    // Signed reasoning may contain placeholders of this plugin, which restores none there. They are no placeholders of the client.
    for (const text of texts?.texts ?? []) if (!text.isReadOnly) this.#reserve(text);
    for (const [index, text] of (texts?.texts ?? []).entries()) {
      if (text.isReadOnly || !this.#roles.has(text.role)) continue;
      const masked = this.#maskText(text);
      if (masked !== text.text) replacements.set(index, masked);
    }
    const isChanged = this.#isMasking && replacements.size > 0;
    return {
      body: isChanged && texts !== null ? texts.replace(replacements) : null,
      values: this.#placeholders.values,
      counts: this.#counts,
      keptConversation,
    };
  }

  /** Brackets may be escaped in a JSON text. */
  #reserve({ text, isJson }: RequestText): void {
    this.#placeholders.reserve(text);
    if (isJson) this.#placeholders.reserve(text.replaceAll(/\\u003c/gi, "<").replaceAll(/\\u003e/gi, ">"));
  }

  #maskText({ text, isJson }: RequestText): string {
    return (isJson ? this.#maskJson(text) : null) ?? this.#maskPlain(text);
  }

  #maskPlain(text: string, name?: string): string {
    const findings = this.#detect(text, name);
    return findings.length === 0 ? text : this.#replace(text, findings);
  }

  #replace(text: string, findings: readonly Finding[]): string {
    let masked = "";
    let from = 0;
    for (const { type, start, end } of findings) {
      this.#counts.set(type, (this.#counts.get(type) ?? 0) + 1);
      masked += text.slice(from, start) + this.#placeholders.for(type, text.slice(start, end));
      from = end;
    }
    return masked + text.slice(from);
  }

  /** Masks the strings of a JSON text as they are read, not as they are escaped. Returns null if the text is no JSON. */
  #maskJson(text: string): string | null {
    if (!text.isWellFormed() || !isJson(text)) return null;
    const bytes = Buffer.from(text);
    const strings = new JsonStrings(bytes);
    let masked = "";
    let from = 0;
    let name = "";
    while (strings.next()) {
      const value = String(JSON.parse(bytes.toString("utf8", strings.start - 1, strings.end + 1)));
      if (isKey(bytes, strings.end + 1)) {
        name = value;
        continue;
      }
      const replaced = this.#maskPlain(value, name);
      if (replaced === value) continue;
      masked += bytes.toString("utf8", from, strings.start - 1) + JSON.stringify(replaced);
      from = strings.end + 1;
    }
    return masked + bytes.toString("utf8", from);
  }
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
