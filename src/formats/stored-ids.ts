// Where requests and responses contain ids of objects that a provider stores: files, batches, responses, fine-tuning jobs.
import { indexOfBytes } from "../base/byte-search.ts";
import type { JsonPart } from "../base/json-string-splicer.ts";
import type { Endpoint, Operation } from "./operations.ts";

export const ID = "id";
/** The id of a response. Only some formats have stored responses. */
export const RESPONSE_ID = "response_id";
/** An id in a part of the conversation that the model produced. Requests do not read the object. */
export const CITED_ID = "cited_id";
/** An id that is opened if it is a sealed one, in requests for endpoints that the gateway does not know. */
export const OPTIONAL_ID = "optional_id";
/** A URL with the id of a batch. */
export const BATCH_URL = "batch_url";

const NO_KEYS: ReadonlyMap<string, JsonPart | null> = new Map();

function stringOf(kind: string): JsonPart {
  return { kind, keys: NO_KEYS, otherKeys: null, elements: null };
}

function objectWith(keys: Readonly<Record<string, JsonPart>>): JsonPart {
  return { kind: null, keys: new Map(Object.entries(keys)), otherKeys: null, elements: null };
}

function listOf(elements: JsonPart): JsonPart {
  return { kind: null, keys: NO_KEYS, otherKeys: null, elements };
}

const AN_ID = stringOf(ID);

/** Objects of one kind with these ids, and the pages of their lists. */
function objectsWith(keys: Readonly<Record<string, JsonPart>>): JsonPart {
  const object = { id: AN_ID, ...keys };
  return objectWith({ ...object, data: listOf(objectWith(object)), first_id: AN_ID, last_id: AN_ID });
}

const FILES = objectsWith({});
const BATCHES = objectsWith({
  input_file_id: AN_ID,
  output_file_id: AN_ID,
  error_file_id: AN_ID,
  results_url: stringOf(BATCH_URL),
});
const FINE_TUNING = objectsWith({
  training_file: AN_ID,
  validation_file: AN_ID,
  result_files: listOf(AN_ID),
  fine_tuning_job_id: AN_ID,
});

const FILE = objectWith({ file_id: AN_ID });
const FILE_IDS = listOf(FILE);
const CONTENT_PART = objectWith({ file_id: AN_ID, annotations: FILE_IDS });
/** The output of a function is a list of content parts, that of a computer is one screenshot. */
const OUTPUT: JsonPart = { ...FILE, elements: FILE };
const ITEM = objectWith({ content: listOf(CONTENT_PART), output: OUTPUT, results: FILE_IDS });
const TOOL = objectWith({ container: objectWith({ file_ids: listOf(AN_ID) }), input_image_mask: FILE });
/** The keys of this object are chosen by the client. */
const VARIABLES: JsonPart = { kind: null, keys: NO_KEYS, otherKeys: FILE, elements: null };
const RESPONSE_FIELDS = {
  id: AN_ID,
  previous_response_id: AN_ID,
  output: listOf(ITEM),
  // Of the request.
  instructions: listOf(ITEM),
  tools: listOf(TOOL),
  prompt: objectWith({ variables: VARIABLES }),
};
const RESPONSE = objectWith({
  ...RESPONSE_FIELDS,
  // Events of a stream.
  response: objectWith(RESPONSE_FIELDS),
  response_id: AN_ID,
  item: ITEM,
  part: CONTENT_PART,
  annotation: FILE,
});
/** The ids of the items themselves stay as they are: no request reads an item by its id alone. */
const INPUT_ITEMS = objectWith({ data: listOf(ITEM) });

/** The files that code of the model created. Only requests with this tool get them. */
const EXECUTED = objectWith({ content: objectWith({ content: FILE_IDS }) });
const MESSAGE = objectWith({ content: listOf(EXECUTED), content_block: EXECUTED });
const CODE_EXECUTION = Buffer.from("code_execution");

/** Returns where a response of the endpoint to a request with this body contains ids; null if it contains none. */
export function idsInResponse({ operation, tail }: Endpoint, body: Uint8Array | null): JsonPart | null {
  switch (operation) {
    case "files":
      return tail.endsWith("/content") ? null : FILES;
    case "batches":
      return tail.endsWith("/results") ? null : BATCHES;
    case "fine_tuning":
      return FINE_TUNING;
    case "responses":
      return tail.endsWith("/input_items") ? INPUT_ITEMS : RESPONSE;
    case "messages":
      return body !== null && indexOfBytes(body, CODE_EXECUTION, 0) >= 0 ? MESSAGE : null;
    default:
      return null;
  }
}

/** What clients put into these has any shape, and providers read no ids in it. */
const FREE_FORM = ["metadata", "parameters", "input_schema", "schema", "arguments", "attributes"];

interface MutablePart extends JsonPart {
  readonly keys: Map<string, JsonPart | null>;
  otherKeys: JsonPart | null;
  elements: JsonPart | null;
}

/** Returns a part for ids with these keys anywhere in the value. */
function anywhere(kind: string): MutablePart {
  const part: MutablePart = { kind: null, keys: new Map(), otherKeys: null, elements: null };
  part.otherKeys = part.elements = part;
  const id = stringOf(kind);
  for (const key of ["file_id", "input_file_id", "image_file_id"]) part.keys.set(key, id);
  part.keys.set("file_ids", { ...part, keys: part.keys, otherKeys: part, elements: id });
  for (const key of FREE_FORM) part.keys.set(key, null);
  // An object is the input of a tool call, which has any shape; a list contains the items of a conversation.
  part.keys.set("input", { kind: null, keys: NO_KEYS, otherKeys: null, elements: part });
  // The keys of this object are chosen by the client.
  part.keys.set("variables", { kind: null, keys: NO_KEYS, otherKeys: part, elements: null });
  return part;
}

const CITED = anywhere(CITED_ID);
const IN_REQUEST = anywhere(ID);
for (const key of ["annotations", "results"]) IN_REQUEST.keys.set(key, CITED);
// An object is the result of code that the model ran, and names the files that the code created.
IN_REQUEST.keys.set("content", { ...CITED, elements: IN_REQUEST });

function withKeys(keys: readonly string[], kind: string): JsonPart {
  const own = keys.map((key) => [key, stringOf(kind)] as const);
  return { ...IN_REQUEST, keys: new Map([...IN_REQUEST.keys, ...own]) };
}

/** Every key with an id in a request ends with one of these. */
export const ID_KEY_SUFFIXES: readonly string[] = ["_id", "_ids", "_file"];

interface RequestIds {
  readonly part: JsonPart;
  /** A body without any of these texts contains no ids. */
  readonly marks: readonly Mark[];
}

/** Texts that all contain the hint, which is found faster: its first byte is rare. Searching for `file_id` took four times as long. */
interface Mark {
  readonly hint: Uint8Array;
  readonly texts: readonly Uint8Array[];
}

/** Keys may be spelled with escape sequences. These begin those of ASCII letters and of the underscore. */
const ESCAPES = ["\\u005", "\\u006", "\\u007"];

function markOf(hint: string, texts: readonly string[]): Mark {
  return { hint: Buffer.from(hint), texts: texts.map((text) => Buffer.from(text)) };
}

const ESCAPED = markOf("\\u00", ESCAPES);
const FILE_ID = markOf("_id", ["file_id"]);

function requestIds(part: JsonPart, marks: readonly Mark[]): RequestIds {
  return { part, marks: [...marks, ESCAPED] };
}

const IN_CHAT = requestIds(IN_REQUEST, [FILE_ID]);
const IN_RESPONSES = requestIds(withKeys(["previous_response_id"], RESPONSE_ID), [
  markOf("_id", ["file_id", "previous_response_id"]),
]);
const IN_FINE_TUNING = requestIds(withKeys(["training_file", "validation_file"], ID), [
  FILE_ID,
  markOf("_file", ["_file"]),
]);

const IN_REQUESTS: Partial<Record<Operation, RequestIds>> = {
  chat: IN_CHAT,
  messages: IN_CHAT,
  count_tokens: IN_RESPONSES,
  images: IN_CHAT,
  batches: IN_CHAT,
  responses: IN_RESPONSES,
  fine_tuning: IN_FINE_TUNING,
  other: requestIds(anywhere(OPTIONAL_ID), [FILE_ID]),
};

/** Returns where the body of a request for the operation may contain ids; null if it contains none. */
export function idsInRequest(operation: Operation): RequestIds | null {
  return IN_REQUESTS[operation] ?? null;
}

const STORED: ReadonlySet<Operation> = new Set(["files", "batches", "fine_tuning", "responses", "other"]);

/** Whether the path or the query of a request for the operation may contain ids. */
export function mayHaveIdInTarget(operation: Operation): boolean {
  return STORED.has(operation);
}

/** An id in a path, with what is before and after it. */
interface IdInPath {
  readonly kind: string;
  readonly before: string;
  readonly id: string;
  readonly after: string;
}

const IN_PATH = /^((?:\/messages)?\/(?:files|batches|responses)\/|\/fine_tuning\/jobs\/)([^/]+)(.*)$/;
/** What may follow the name of the operation instead of an id. */
const NO_IDS: ReadonlySet<string> = new Set(["compact", "input_tokens"]);

/** Returns the id in the tail of an endpoint; null if there is none. */
export function idInPath({ operation, tail }: Endpoint): IdInPath | null {
  const [, before = "", id = "", after = ""] = IN_PATH.exec(tail) ?? [];
  const kind = operation === "responses" ? RESPONSE_ID : ID;
  return id === "" || NO_IDS.has(id) ? null : { kind, before, id, after };
}

/** The endpoint that a provider has if it stores responses. Other providers get translated requests to create one only. */
export const STORED_RESPONSE: Endpoint = {
  operation: "responses",
  format: "responses",
  tail: "/responses/{id}",
  model: null,
  wantsStream: null,
};

const LISTS: ReadonlySet<Operation> = new Set(["files", "batches", "fine_tuning"]);
const CURSORS: ReadonlySet<string> = new Set(["after", "before", "after_id", "before_id"]);

/** Whether the query parameter is an id: lists start at an object. */
export function isIdParameter({ operation }: Endpoint, name: string): boolean {
  return LISTS.has(operation) && CURSORS.has(name);
}
