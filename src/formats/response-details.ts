// What spans report of a response besides its tokens: its id, and why each choice ended. Read for traced requests only.
import { parseBounded } from "../base/bounded-json.ts";
import { isJsonObject, type JsonObject } from "../base/json.ts";
import { SseParser } from "./sse.ts";

/** How a format reports the details. */
export interface DetailsReader {
  /** Adds what a body, or an event of a stream, says. */
  readonly read: (body: JsonObject, details: ResponseDetails) => void;
  /** Matches all events of a stream with details other than the id, and few others. */
  readonly eventPattern: RegExp;
  /** Whether `read` adds the model. Otherwise the first field `model` of a response names it. */
  readonly readsModel: boolean;
}

/** Larger bodies are not parsed. They contain images or embeddings. */
const MAX_BODY_BYTES = 256 * 1024;
/** Azure's first event has no id. A stream whose first events have none has none at all. */
const MAX_EVENTS_WITHOUT_ID = 8;
const MAX_CHOICES = 128;
const decoder = new TextDecoder();

export class ResponseDetails {
  readonly #reader: DetailsReader;
  readonly #reasons = new Map<number, string>();
  /** Created by the first chunk: most responses are no streams. */
  #parser: SseParser | null = null;
  #isUnreadable = false;
  #eventsWithoutId = 0;
  id: string | null = null;
  /** The model that the response names; null if the reader does not add it. */
  model: string | null = null;

  constructor(reader: DetailsReader) {
    this.#reader = reader;
  }

  /** In the order of choices. */
  get finishReasons(): readonly string[] {
    return [...this.#reasons].sort(([one], [other]) => one - other).map(([, reason]) => reason);
  }

  readBody(json: Uint8Array): void {
    if (json.byteLength <= MAX_BODY_BYTES) this.#read(decoder.decode(json));
  }

  /** Call with the next bytes of a stream, decoded. */
  push(chunk: Uint8Array): void {
    if (this.#isUnreadable) return;
    try {
      this.#parser ??= new SseParser();
      for (const { data } of this.#parser.push(chunk)) this.#readEvent(data);
    } catch {
      // An event is too large. The details so far are reported.
      this.#isUnreadable = true;
      this.#parser = null;
    }
  }

  /** Keeps the first id: events may have ids of their own. */
  addId(id: unknown): void {
    if (this.id === null && typeof id === "string" && id !== "") this.id = id;
  }

  addModel(model: unknown): void {
    if (typeof model === "string") this.model = model;
  }

  addFinishReason(choice: number, reason: unknown): void {
    if (typeof reason === "string" && this.#reasons.size < MAX_CHOICES) this.#reasons.set(choice, reason);
  }

  #readEvent(data: string): void {
    const mayHaveId = this.id === null && this.#eventsWithoutId++ < MAX_EVENTS_WITHOUT_ID;
    if (mayHaveId || this.#reader.eventPattern.test(data)) this.#read(data);
  }

  #read(json: string): void {
    let body: unknown;
    try {
      body = parseBounded(json);
    } catch {
      return;
    }
    if (isJsonObject(body)) this.#reader.read(body, this);
  }
}
