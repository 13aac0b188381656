// The request body: its bytes, and its content in the form that routing, formats and plugins need. JSON is validated and
// scanned for a few fields when it arrives. It is parsed only if something needs all of it.
import { GatehouseError } from "../base/errors.ts";
import { isJsonObject, type JsonObject } from "../base/json.ts";
import { JsonScanner } from "../base/json-scanner.ts";

const decoder = new TextDecoder("utf-8", { fatal: true });

const scanner = new JsonScanner(["model", "stream", "messages", "prompt", "stream_options"]);
const MODEL = 0;
const STREAM = 1;
const MESSAGES = 2;
const PROMPT = 3;
const STREAM_OPTIONS = 4;

const OPEN_BRACKET = 0x5b;
const LETTER_T = 0x74;

/** The top-level fields that the gateway reads. They stay available after the body is released. */
export interface BodyFields {
  /** Whether the body is a JSON object. Without one there are no fields. */
  readonly isObject: boolean;
  /** The requested model; null if there is none or it is not a string. */
  readonly model: string | null;
  readonly wantsStream: boolean;
  /** Whether `messages` is an array, as in the chat requests of all formats. */
  readonly hasMessages: boolean;
  readonly hasPrompt: boolean;
  /** The value of `stream_options`; undefined if the field is absent. */
  readonly streamOptions: unknown;
}

export const NO_FIELDS: BodyFields = {
  isObject: false,
  model: null,
  wantsStream: false,
  hasMessages: false,
  hasPrompt: false,
  streamOptions: undefined,
};

export class RequestBody {
  readonly bytes: Uint8Array;
  /** Whether the content type is JSON and the bytes are not compressed. */
  readonly isJson: boolean;
  readonly fields: BodyFields;
  #text: string | null = null;
  #json: JsonObject | null = null;

  /** Throws a GatehouseError if the body should be JSON and is not. */
  constructor(bytes: Uint8Array, isJson: boolean) {
    this.bytes = bytes;
    this.isJson = isJson;
    const result = isJson ? scanner.scan(bytes) : "other";
    if (result === "invalid") throw invalidJson();
    this.fields =
      result === "object" ? scannedFields(bytes) : result === "too_deep" ? this.#parsedFields() : NO_FIELDS;
  }

  /** The body as text; null if it is not valid UTF-8. */
  get text(): string | null {
    if (this.#text === null) {
      try {
        this.#text = decoder.decode(this.bytes);
      } catch {
        return null;
      }
    }
    return this.#text;
  }

  /** The parsed body; null if it is not a JSON object. */
  get json(): JsonObject | null {
    if (this.#json === null && this.fields.isObject) this.#json = this.#parse();
    return this.#json;
  }

  #parse(): JsonObject | null {
    try {
      const value: unknown = JSON.parse(this.text ?? "");
      return isJsonObject(value) ? value : null;
    } catch (cause) {
      throw invalidJson(cause);
    }
  }

  /** For a body that is nested too deeply to be scanned. */
  #parsedFields(): BodyFields {
    this.#json = this.#parse();
    if (this.#json === null) return NO_FIELDS;
    const { model, stream, messages, prompt, stream_options: streamOptions } = this.#json;
    return {
      isObject: true,
      model: modelNameIn(model),
      wantsStream: stream === true,
      hasMessages: Array.isArray(messages),
      hasPrompt: prompt !== undefined,
      streamOptions,
    };
  }
}

function scannedFields(bytes: Uint8Array): BodyFields {
  return {
    isObject: true,
    model: modelNameIn(scannedValue(bytes, MODEL)),
    wantsStream: bytes[scanner.startOf(STREAM)] === LETTER_T,
    hasMessages: bytes[scanner.startOf(MESSAGES)] === OPEN_BRACKET,
    hasPrompt: scanner.startOf(PROMPT) >= 0,
    streamOptions: scannedValue(bytes, STREAM_OPTIONS),
  };
}

function scannedValue(bytes: Uint8Array, field: number): unknown {
  const start = scanner.startOf(field);
  return start < 0 ? undefined : JSON.parse(decoder.decode(bytes.subarray(start, scanner.endOf(field))));
}

function modelNameIn(value: unknown): string | null {
  return typeof value === "string" && value !== "" ? value : null;
}

function invalidJson(cause?: unknown): GatehouseError {
  return new GatehouseError("invalid_json", "The body is not valid JSON in UTF-8.", { cause });
}
