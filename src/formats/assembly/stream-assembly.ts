// Conversion between whole responses and event streams of one format, so that one stored response serves both kinds of requests.
import type { JsonObject } from "../../base/json.ts";
import type { Operation } from "../operations.ts";
import { SseParser } from "../sse.ts";
import type { StreamAssembly } from "./assembly.ts";
import { CHAT_ASSEMBLY } from "./chat-assembly.ts";
import { COMPLETIONS_ASSEMBLY } from "./completions-assembly.ts";
import { MESSAGES_ASSEMBLY } from "./messages-assembly.ts";
import { RESPONSES_ASSEMBLY } from "./responses-assembly.ts";

const ASSEMBLIES: Partial<Record<Operation, StreamAssembly>> = {
  chat: CHAT_ASSEMBLY,
  completions: COMPLETIONS_ASSEMBLY,
  messages: MESSAGES_ASSEMBLY,
  responses: RESPONSES_ASSEMBLY,
};

/** Returns null if responses of the operation are never streams that the gateway can convert. */
export function assemblyOf(operation: Operation): StreamAssembly | null {
  return ASSEMBLIES[operation] ?? null;
}

/** Numbers that JSON.parse would change. A response with one is not converted. */
const LARGE_NUMBER = /[:,[]\s*-?\d{16,}/;

export function hasLargeNumber(json: string): boolean {
  return LARGE_NUMBER.test(json);
}

/** Returns the whole response that a stream describes, or null. */
export function assembleStream(assembly: StreamAssembly, stream: Uint8Array): JsonObject | null {
  const parser = new SseParser(stream.byteLength + 1);
  const events = parser.push(stream);
  if (parser.hasIncompleteEvent) return null;
  if (events.some(({ data }) => hasLargeNumber(data))) return null;
  try {
    return assembly.assemble(events);
  } catch {
    return null;
  }
}
