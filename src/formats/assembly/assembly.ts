// The interface of the conversion between whole responses and event streams of one operation.
import type { JsonObject } from "../../base/json.ts";
import type { SseEvent } from "../sse.ts";

export interface StreamAssembly {
  /** Whether a whole response is complete: the model has finished, and nothing failed. */
  readonly isComplete: (response: JsonObject) => boolean;
  /** Returns the response that a stream describes; null if the stream is not complete, or has events that are not known. */
  readonly assemble: (events: readonly SseEvent[]) => JsonObject | null;
  /** Returns the event stream of a whole response. `includesUsage`: the client of a chat stream requested its usage. */
  readonly encode: (response: JsonObject, includesUsage: boolean) => string;
  /** Returns the response with the usage that only the gateway has seen; null if responses always have their usage. */
  readonly withUsage: ((response: JsonObject, input: number, output: number) => JsonObject) | null;
}
