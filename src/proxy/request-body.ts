// The request body: its bytes, and its content in the form that routing, formats and plugins need. JSON is validated and
// scanned for a few fields when it arrives. It is parsed only if something needs all of it.
import { utf8Between } from "../base/byte-search.ts";
import { GatehouseError } from "../base/errors.ts";
import { isJsonObject, type JsonObject } from "../base/json.ts";
import { JsonScanner, MAX_DEPTH } from "../base/json-scanner.ts";

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

  /** Throws a GatehouseError if the body should be JSON and is not, or if other servers could read other fields in it. */
  constructor(bytes: Uint8Array, isJson: boolean) {
    this.bytes = bytes;
    this.isJson = isJson;
    const result = isJson ? scanner.scan(bytes) : "other";
    if (result === "invalid") throw invalidJson("The body is not valid JSON in UTF-8.");
    if (result === "too_deep") throw invalidJson(`The body is nested more than ${MAX_DEPTH} levels deep.`);
    if (scanner.hasDuplicates && isJson)
      throw invalidJson(
        "The body contains one of the fields model, stream, messages, prompt, or stream_options twice.",
      );
    this.fields = result === "object" ? scannedFields(bytes) : NO_FIELDS;
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
    if (this.#json === null && this.fields.isObject) {
      const value: unknown = JSON.parse(this.text ?? "");
      if (isJsonObject(value)) this.#json = value;
    }
    return this.#json;
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
  return start < 0 ? undefined : JSON.parse(utf8Between(bytes, start, scanner.endOf(field)));
}

function modelNameIn(value: unknown): string | null {
  return typeof value === "string" && value !== "" ? value : null;
}

function invalidJson(message: string): GatehouseError {
  return new GatehouseError("invalid_json", message);
}
