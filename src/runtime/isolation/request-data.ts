// The request inside an isolate, as a pre_request hook sees it, with the changes that the hook has made so far.
import type { AskContext } from "./isolated-context.ts";
import type { ContextData } from "./messages.ts";
import { PlainHeaders, type HeaderEntries } from "./plain-headers.ts";

interface RequestFields {
  readonly path: string;
  readonly query: string;
  readonly headers: HeaderEntries;
  readonly bodySize: number;
  /** Why the body cannot be read; null if it can. */
  readonly bytesProblem: string | null;
  readonly isJson: boolean;
  readonly bodyUser: string | null;
  readonly requestedModel: string | null;
}

export class RequestData {
  path: string;
  query: string;
  readonly #fields: RequestFields;
  readonly #ask: AskContext;
  readonly headers: PlainHeaders;
  #forwarded: PlainHeaders | null = null;
  /** The changes of forwarded headers before these were asked for. */
  readonly #changed: [string, string | null][] = [];
  #bytes: Uint8Array | null;
  #isReplaced = false;
  #text: string | null | undefined;
  #json: Readonly<Record<string, unknown>> | null | undefined;

  constructor(data: ContextData, bytes: Uint8Array | null, ask: AskContext) {
    this.#fields = data as unknown as RequestFields;
    this.#bytes = bytes;
    this.#ask = ask;
    this.path = this.#fields.path;
    this.query = this.#fields.query;
    this.headers = new PlainHeaders(this.#fields.headers);
  }

  get forwardedHeaders(): PlainHeaders {
    if (this.#forwarded === null) {
      this.#forwarded = new PlainHeaders(this.#ask("forwardedHeaders") as HeaderEntries);
      for (const [name, value] of this.#changed) this.#forwarded.set(name, value);
    }
    return this.#forwarded;
  }
  get forwardedCredentials(): PlainHeaders {
    return new PlainHeaders(this.#ask("forwardedCredentials") as HeaderEntries);
  }
  get userKey(): string {
    return this.#ask("userKey") as string;
  }

  setHeader(name: string, value: string | null): void {
    if (this.#forwarded === null) this.#changed.push([name, value]);
    else this.#forwarded.set(name, value);
  }

  get bodySize(): number {
    return this.#isReplaced ? (this.#bytes?.byteLength ?? 0) : this.#fields.bodySize;
  }
  get bytes(): Uint8Array | null {
    if (this.#fields.bytesProblem !== null && !this.#isReplaced) throw new Error(this.#fields.bytesProblem);
    return this.#bytes;
  }
  get text(): string | null {
    if (this.#text === undefined) this.#text = this.bytes === null ? null : decode(this.bytes);
    return this.#text;
  }
  get isJson(): boolean {
    return this.#fields.isJson;
  }
  get json(): Readonly<Record<string, unknown>> | null {
    if (this.#json === undefined) this.#json = this.isJson ? objectIn(this.text) : null;
    return this.#json;
  }
  get user(): string | null {
    return this.#isReplaced ? this.#textField("user") : this.#fields.bodyUser;
  }
  get model(): string | null {
    return this.#isReplaced
      ? (this.#textField("model") ?? this.#fields.requestedModel)
      : this.#fields.requestedModel;
  }

  replaceBody(body: string | Uint8Array): void {
    this.#bytes = typeof body === "string" ? Buffer.from(body) : body;
    this.#isReplaced = true;
    this.#text = undefined;
    this.#json = undefined;
  }

  #textField(name: string): string | null {
    const value = this.json?.[name];
    return typeof value === "string" && value !== "" ? value : null;
  }
}

/** As the gateway decodes a body: without the byte order mark, which JSON.parse does not accept. */
function decode(bytes: Uint8Array): string | null {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return null;
  }
}

function objectIn(text: string | null): Readonly<Record<string, unknown>> | null {
  if (text === null) return null;
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value) ? { ...value } : null;
  } catch {
    return null;
  }
}
