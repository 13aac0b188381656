// Searches the texts of a request body, and replaces what is found by placeholders.
import { readBodyTexts, type BodyTexts, type RequestText } from "../../sdk/index.ts";
import { compileDetector, type Detect } from "./detect.ts";
import type { Finding } from "./finding.ts";
import { findInIdentifier } from "./identifiers.ts";
import { isInvented } from "./invented.ts";
import { maskJson } from "./mask-json.ts";
import type { ValueTable } from "./masked-values.ts";
import { Placeholders } from "./placeholders.ts";
import type { PiiMaskSettings } from "./settings.ts";

export interface SearchedBody {
  /** The masked body; null if it stays as it is. */
  readonly body: Uint8Array | null;
  /** The values by placeholder; null if there are none. */
  readonly values: ValueTable | null;
  /** Number of findings by type. */
  readonly counts: ReadonlyMap<string, number>;
  /** The field because of which the request cannot be masked: the provider keeps the conversation. Else null. */
  readonly keptConversation: string | null;
  /** What in the request may be text and cannot be read; null if there is nothing. */
  readonly unreadable: string | null;
  /** The field because of which the request cannot be masked: its value is an id, a URL or a setting, and has a finding. Else null. */
  readonly unmaskable: string | null;
  /** The field of signed reasoning because of which the request cannot be masked. Else null. */
  readonly signed: string | null;
}

type Selection = Pick<PiiMaskSettings, "types" | "custom" | "roles" | "action">;

/**
 * Compiles the settings into a function that searches one body. `key`: numbers of placeholders are derived
 * from values with it.
 */
export function compileSearch(
  settings: Selection,
): (body: Uint8Array, contentType: string | null, key: string | null) => SearchedBody {
  const detect = compileDetector(settings);
  const roles = new Set<string>(settings.roles);
  const isMasking = settings.action === "mask" && settings.types.length + settings.custom.length > 0;
  return (body, contentType, key) =>
    new BodySearch(detect, roles, isMasking, key).run(readBodyTexts(body, contentType));
}

class BodySearch {
  readonly #detect: Detect;
  readonly #roles: ReadonlySet<string>;
  readonly #isMasking: boolean;
  readonly #placeholders: Placeholders;
  readonly #counts = new Map<string, number>();

  constructor(detect: Detect, roles: ReadonlySet<string>, isMasking: boolean, key: string | null) {
    this.#placeholders = new Placeholders(isMasking ? key : null);
    this.#detect = detect;
    this.#roles = roles;
    this.#isMasking = isMasking;
  }

  run(read: BodyTexts): SearchedBody {
    const { unreadable } = read;
    const keptConversation = this.#isMasking ? read.keptConversation : null;
    if (unreadable !== null || keptConversation !== null)
      return { ...NOT_SEARCHED, unreadable, keptConversation };
    const { texts } = read;
    const replacements = new Map<number, string>();
    // Signed reasoning may contain placeholders of this plugin, which restores none there. They are no placeholders of the client.
    for (const text of texts) if (!text.isReadOnly) this.#reserve(text);
    for (const { text } of read.identifiers) this.#placeholders.reserve(text);
    for (const [index, text] of texts.entries()) {
      if (text.isReadOnly || !this.#roles.has(text.role)) continue;
      const masked = this.#maskText(text);
      if (masked !== text.text) replacements.set(index, masked);
    }
    const keys = this.#maskKeys(read);
    const [unmaskable, signed] = [this.#findIdentifier(read), this.#findInSigned(texts)];
    const isMaskable = this.#isMasking && unmaskable === null && signed === null;
    const isChanged = isMaskable && replacements.size + keys.size > 0;
    return {
      body: isChanged ? read.replace(replacements, keys) : null,
      values: this.#placeholders.takeValues(),
      counts: this.#counts,
      keptConversation,
      unreadable,
      unmaskable: this.#isMasking ? unmaskable : null,
      signed: this.#isMasking ? signed : null,
    };
  }

  /** Returns the masked names of fields, which are often values: the names of members, and of properties of a schema. */
  #maskKeys({ identifiers }: BodyTexts): Map<string, string> {
    const keys = new Map<string, string>();
    for (const { kind, text } of identifiers) {
      if (kind !== "key") continue;
      const masked = this.#maskPlain(text);
      if (masked !== text) keys.set(text, masked);
    }
    return keys;
  }

  /** Returns the field of the first id, URL or setting with a finding; null if there is none. A changed one would break the request. */
  #findIdentifier({ identifiers }: BodyTexts): string | null {
    let field: string | null = null;
    for (const identifier of identifiers) {
      const findings = findInIdentifier(identifier, this.#detect);
      for (const { type } of findings) this.#count(type);
      if (findings.length > 0) field ??= identifier.field;
    }
    return field;
  }

  /**
   * Returns the field of the first signed text with a finding; null if there is none. A masked prompt leads to reasoning with placeholders,
   * so a value in it is the client's, or one that the model invented. Only values that identify nobody are known to be invented.
   */
  #findInSigned(texts: readonly RequestText[]): string | null {
    let field: string | null = null;
    for (const text of texts) {
      if (!text.isReadOnly || !this.#roles.has(text.role)) continue;
      for (const { type, start, end } of this.#detect(text.text)) {
        if (this.#isMasking && isInvented(type, text.text.slice(start, end))) continue;
        this.#count(type);
        field ??= text.field;
      }
    }
    return field;
  }

  /** Brackets may be escaped in a JSON text. */
  #reserve({ text, isJson }: RequestText): void {
    this.#placeholders.reserve(text);
    if (isJson) this.#placeholders.reserve(text.replaceAll(/\\u003c/gi, "<").replaceAll(/\\u003e/gi, ">"));
  }

  #maskText({ text, isJson, kind, field }: RequestText): string {
    const masked = isJson ? maskJson(text, (value, name) => this.#maskPlain(value, name)) : null;
    if (masked !== null) return masked;
    // Its name may identify a secret.
    return this.#maskPlain(text, kind === "tool_arguments" || kind === "tool_result" ? field : undefined);
  }

  #maskPlain(text: string, name?: string): string {
    const findings = this.#detect(text, name);
    return findings.length === 0 ? text : this.#replace(text, findings);
  }

  #replace(text: string, findings: readonly Finding[]): string {
    let masked = "";
    let from = 0;
    for (const { type, start, end } of findings) {
      this.#count(type);
      masked += text.slice(from, start) + this.#placeholders.for(type, text.slice(start, end));
      from = end;
    }
    return masked + text.slice(from);
  }

  #count(type: string): void {
    this.#counts.set(type, (this.#counts.get(type) ?? 0) + 1);
  }
}

const NOT_SEARCHED: SearchedBody = {
  body: null,
  values: null,
  counts: new Map(),
  keptConversation: null,
  unreadable: null,
  unmaskable: null,
  signed: null,
};
