// The request body: its bytes, and its content in the form that routing, formats and plugins need. JSON is validated and
// scanned for a few fields when it arrives. It is parsed only if something needs all of it.
import { utf8Between } from "../base/byte-search.ts";
import { BoundedCache } from "../base/bounded-cache.ts";
import { GatehouseError } from "../base/errors.ts";
import { isJsonObject, type JsonObject } from "../base/json.ts";
import { JsonScanner, MAX_DEPTH } from "../base/json-scanner.ts";
import { LastJsonText } from "../base/last-json-text.ts";
import { ID_KEY_SUFFIXES } from "../formats/stored-ids.ts";
import { isMultipart, isUrlEncoded } from "../http/media-type.ts";
import { LARGE_BODY_BYTES } from "../off-loop/large-body.ts";
import type { Sampling } from "../telemetry/requests/request-facts.ts";
import { digestOfBody } from "./body-digest.ts";
import { fieldsInForm, type FormModel } from "./form-model.ts";
import {
  GENERATION_FIELDS,
  GenerationReader,
  problemOf,
  type GenerationFields,
} from "./generation-fields.ts";
import { readSampling } from "./sampling.ts";
import {
  AMBIGUOUS_FORM,
  ambiguousField,
  JSON_AS_FORM,
  MODEL_NOT_TEXT,
  OTHER_FORM,
  problemOfOther,
  TOO_MANY_PARTS,
  type ModelProblem,
} from "./model-problems.ts";

const decoder = new TextDecoder("utf-8", { fatal: true });

/** Servers may disagree on the value of these fields if they occur twice; `user` is only a hint. */
const AMBIGUITY_MATTERS = ["model", "stream", "messages", "prompt", "stream_options", "models", "fallbacks"];
const WATCHED = [...AMBIGUITY_MATTERS, ...GENERATION_FIELDS, "user"];
const scanner = new JsonScanner(WATCHED, {
  uniqueCount: WATCHED.length - 1,
  keySuffixes: ID_KEY_SUFFIXES,
});
const generationReader = new GenerationReader(WATCHED);
const lastModel = new LastJsonText();
const [MODEL, STREAM, MESSAGES, PROMPT, STREAM_OPTIONS, MODELS, FALLBACKS] = [0, 1, 2, 3, 4, 5, 6] as const;
const USER = WATCHED.length - 1;

const OPEN_BRACKET = 0x5b;
const LETTER_T = 0x74;

/** The top-level fields that the gateway reads. They stay available after the body is released. */
export interface BodyFields {
  /** Whether the body is a JSON object. Without one there are no fields. */
  readonly isObject: boolean;
  /** The requested model; null if there is none or it is not a string. Also known of some bodies that are no JSON. */
  readonly model: string | null;
  /** Where a multipart form has the model; null if the body is no form, or names none. */
  readonly formModel: FormModel | null;
  /** Not null if the server may read another model than `model`. Matters only where the model is checked. */
  readonly modelProblem: ModelProblem | null;
  /** Models that routers such as OpenRouter may use instead of `model`; normally none. They may be anything but strings. */
  readonly furtherModels: readonly unknown[];
  readonly wantsStream: boolean;
  /** Whether `messages` is an array, as in the chat requests of all formats. */
  readonly hasMessages: boolean;
  readonly hasPrompt: boolean;
  readonly generation: GenerationFields;
  /** The value of `stream_options`; undefined if the field is absent. */
  readonly streamOptions: unknown;
  /** Null if it is absent, empty or not a string. */
  readonly user: string | null;
  /** False if the body was read and has no key whose value may be the id of a stored object. */
  readonly mayHaveIds: boolean;
  /** Read for traced requests only. */
  readonly sampling: Sampling | null;
}

const NO_MODELS: readonly unknown[] = [];

export const NO_FIELDS: BodyFields = {
  isObject: false,
  model: null,
  formModel: null,
  modelProblem: null,
  furtherModels: NO_MODELS,
  wantsStream: false,
  hasMessages: false,
  hasPrompt: false,
  generation: GenerationReader.none,
  streamOptions: undefined,
  user: null,
  mayHaveIds: true,
  sampling: null,
};

/** Fields with longer texts are not remembered: a client decides how long they are. */
const MAX_KNOWN_LENGTH = 500;
/** The fields of bodies that were scanned before, by digest. Holds no bodies. */
const knownFields = new BoundedCache<string, BodyFields>(2000);

export interface BodySource {
  readonly bytes: Uint8Array;
  /** Whether the content type is JSON and the bytes are not compressed. */
  readonly isJson: boolean;
  /** Null: the model is not searched for in a body that is no JSON. */
  readonly contentType: string | null;
  /** Whether the fields that only spans need are read, too. */
  readonly isTraced: boolean;
}

export class RequestBody implements BodySource {
  readonly bytes: Uint8Array;
  readonly isJson: boolean;
  readonly contentType: string | null;
  readonly isTraced: boolean;
  readonly fields: BodyFields;
  /** The fields are those of the body that this one replaced. */
  readonly isUnscanned: boolean;
  #text: string | null = null;
  #json: JsonObject | null = null;
  #digest: string | null = null;

  private constructor(source: BodySource, fields: BodyFields, isUnscanned: boolean) {
    this.bytes = source.bytes;
    this.isJson = source.isJson;
    this.contentType = source.contentType;
    this.isTraced = source.isTraced;
    this.fields = fields;
    this.isUnscanned = isUnscanned;
  }

  /** Throws a GatehouseError if the body should be JSON and is not, or if other servers could read other fields in it. */
  static scan(source: BodySource): RequestBody {
    return new RequestBody(source, readFields(source), false);
  }

  /** As `scan`, for a small body whose digest is needed anyway: an equal body that was seen before is not scanned again. */
  static scanOnce(source: BodySource): RequestBody {
    // Spans need fields that are not known.
    if (!source.isJson || source.isTraced) return RequestBody.scan(source);
    const digest = digestOfBody(source.bytes);
    const known = knownFields.get(digest);
    const fields = known ?? readFields(source);
    if (known === undefined && isRemembered(fields)) knownFields.set(digest, fields);
    const body = new RequestBody(source, fields, false);
    body.#digest = digest;
    return body;
  }

  /** For a body whose fields were read before. */
  static withFields(source: BodySource, fields: BodyFields): RequestBody {
    return new RequestBody(source, fields, false);
  }

  /** Like `scan`, but returns null if the body has more than `maxValues` values, which would take too long. */
  static scanSparse(source: BodySource, maxValues: number): RequestBody | null {
    const fields = readFields(source, maxValues);
    return fields === null ? null : new RequestBody(source, fields, false);
  }

  /**
   * Returns a body of the same content type. Throws as `scan` does, unless the body is large: its fields stay those of this
   * body until it is scanned off the event loop.
   */
  replacedBy(bytes: Uint8Array): RequestBody {
    const { isJson, contentType, isTraced } = this;
    const source = { bytes, isJson, contentType, isTraced };
    return bytes.byteLength > LARGE_BODY_BYTES
      ? new RequestBody(source, this.fields, true)
      : RequestBody.scan(source);
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

  /** Identifies the bytes. */
  get digest(): string {
    return (this.#digest ??= digestOfBody(this.bytes));
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

/** Whether the fields are as short as those of most bodies. */
function isRemembered({ model, user, furtherModels, streamOptions }: BodyFields): boolean {
  const options = streamOptions === undefined ? "" : JSON.stringify(streamOptions);
  const length = (model ?? "").length + (user ?? "").length + options.length;
  return furtherModels.length === 0 && length <= MAX_KNOWN_LENGTH;
}

/** Throws as `RequestBody.scan` does. Returns null if the body is JSON with more than `maxValues` values. */
export function readFields(source: BodySource): BodyFields;
export function readFields(source: BodySource, maxValues: number): BodyFields | null;
export function readFields(
  { bytes, isJson, contentType, isTraced }: BodySource,
  maxValues = Infinity,
): BodyFields | null {
  if (isJson) {
    const fields = jsonFields(bytes, maxValues);
    return isTraced && fields?.isObject === true ? { ...fields, sampling: readSampling(bytes) } : fields;
  }
  return contentType === null ? NO_FIELDS : otherFields(bytes, contentType);
}

function jsonFields(bytes: Uint8Array, maxValues: number): BodyFields | null {
  const result = scanner.scan(bytes, maxValues);
  if (result === "too_dense") return null;
  if (result === "invalid") throw invalidJson("The body is not valid JSON in UTF-8.");
  if (result === "too_deep") throw invalidJson(`The body is nested more than ${MAX_DEPTH} levels deep.`);
  if (result === "other") return withProblem(problemOfOther(bytes));
  const problem = scannedProblem(bytes);
  if (problem !== null) throw invalidJson(problem.message);
  return scannedFields(bytes);
}

/** Returns only the model: a body that is not declared as JSON is forwarded unchanged. */
function otherFields(bytes: Uint8Array, contentType: string): BodyFields {
  const isObject = scanner.scan(bytes) === "object";
  // A form may look like JSON and contain another model.
  if (isUrlEncoded(contentType)) return withProblem(isObject ? JSON_AS_FORM : OTHER_FORM);
  if (isObject) {
    const problem = scannedProblem(bytes);
    if (problem !== null) return withProblem(problem);
    const { model, modelProblem, furtherModels, generation } = scannedFields(bytes);
    return { ...NO_FIELDS, model, modelProblem, furtherModels, generation };
  }
  if (!isMultipart(contentType)) return withProblem(problemOfOther(bytes));
  const found = fieldsInForm(bytes, contentType);
  if (found === "too_many_parts") return withProblem(TOO_MANY_PARTS);
  return found === "ambiguous" ? withProblem(AMBIGUOUS_FORM) : { ...NO_FIELDS, ...found };
}

function withProblem(modelProblem: ModelProblem): BodyFields {
  return { ...NO_FIELDS, modelProblem };
}

/** Returns the field that servers may read differently; null if there is none. */
function scannedProblem(bytes: Uint8Array): ModelProblem | null {
  const problem = problemOf(scanner) ?? generationReader.problemIn(bytes, scanner);
  return problem === null ? null : ambiguousField(problem);
}

function scannedFields(bytes: Uint8Array): BodyFields {
  const modelStart = scanner.startOf(MODEL);
  const model = modelStart < 0 ? undefined : lastModel.parse(bytes, modelStart, scanner.endOf(MODEL));
  return {
    isObject: true,
    model: textIn(model),
    formModel: null,
    modelProblem: isTextOrAbsent(model) ? null : MODEL_NOT_TEXT,
    furtherModels:
      scanner.startOf(MODELS) < 0 && scanner.startOf(FALLBACKS) < 0 ? NO_MODELS : scannedModels(bytes),
    wantsStream: bytes[scanner.startOf(STREAM)] === LETTER_T,
    hasMessages: bytes[scanner.startOf(MESSAGES)] === OPEN_BRACKET,
    hasPrompt: scanner.startOf(PROMPT) >= 0,
    generation: generationReader.read(bytes, scanner),
    streamOptions: scannedValue(bytes, STREAM_OPTIONS),
    user: textIn(scannedValue(bytes, USER)),
    mayHaveIds: scanner.mayHaveSuffixes,
    sampling: null,
  };
}

function scannedValue(bytes: Uint8Array, field: number): unknown {
  const start = scanner.startOf(field);
  return start < 0 ? undefined : JSON.parse(utf8Between(bytes, start, scanner.endOf(field)));
}

function scannedModels(bytes: Uint8Array): unknown[] {
  return [scannedValue(bytes, MODELS) ?? [], scannedValue(bytes, FALLBACKS) ?? []].flat();
}

function textIn(value: unknown): string | null {
  return typeof value === "string" && value !== "" ? value : null;
}

function isTextOrAbsent(value: unknown): boolean {
  return value === undefined || value === null || typeof value === "string";
}

function invalidJson(message: string): GatehouseError {
  return new GatehouseError("invalid_json", message);
}
