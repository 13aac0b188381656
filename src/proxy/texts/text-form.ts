// In which form a body has its texts, by what was requested and by its first bytes. The Content-Type does not decide: clients parse what they
// requested, whatever the provider declares.
import { hasByteOrderMark, utf8Between } from "../../base/byte-search.ts";
import { isTextFile } from "../../base/text-bytes.ts";
import type { Endpoint } from "../../formats/operations.ts";
import type { Unguarded } from "../../model/rule.ts";
import type { FileTransport } from "../../snapshot/rule-guards.ts";

/** `events`: an event stream, inspected as it arrives. `whole`: inspected when all of it has arrived. Null: media, or no body. */
export type TextForm = "events" | "whole" | null;

/**
 * What the body of a response may be. `format`: a body or stream of the format of the endpoint, and nothing else. `any`: also a text, or
 * media. `files` and `batches`: as `any`, in a file that was uploaded or generated for download. `unguarded`: such a file, and the rule lets
 * it pass.
 */
export type BodyRule = "format" | "any" | FileTransport | "unguarded";

/** What lines of an event stream start with; the last one is that of a comment. */
const EVENT_FIELDS = ["data:", "event:", "id:", "retry:", ":"];
const LONGEST_FIELD = 8;
const FILE_CONTENT = /\/files\/[^/]+\/content$/;
const BATCH_RESULTS = /\/batches\/[^/]+\/results$/;

const JSON_TYPE = /^application\/(?:[\w.-]+\+)?json\b/i;

type Start = "events" | "json" | "blank" | "other";

/** `isFirstChunk`: more bytes follow, so that a field may be cut. */
export function startOf(bytes: Uint8Array, isFirstChunk: boolean): Start {
  let at = hasByteOrderMark(bytes) ? 3 : 0;
  while (at < bytes.byteLength && isSpace(bytes[at])) at++;
  if (at === bytes.byteLength) return "blank";
  const start = utf8Between(bytes, at, Math.min(at + LONGEST_FIELD, bytes.byteLength));
  if (start.startsWith("{") || start.startsWith("[")) return "json";
  const isField = (field: string) => start.startsWith(field) || (isFirstChunk && field.startsWith(start));
  return EVENT_FIELDS.some(isField) ? "events" : "other";
}

/** What is known of a body before all of it has arrived. */
interface Declared {
  readonly type: string | null;
  /** Declared as an event stream, or undeclared and beginning like one. */
  readonly isStream: boolean;
}

export function textFormOf(rule: BodyRule, first: Uint8Array, { type, isStream }: Declared): TextForm {
  if (rule === "unguarded") return null;
  const start = startOf(first, rule === "format");
  if (start === "blank") return isStream ? "events" : "whole";
  if (rule === "format") return start === "events" ? "events" : "whole";
  if (isStream && start !== "json") return "events";
  return start === "json" || JSON_TYPE.test(type ?? "") || isTextFile(type, first) ? "whole" : null;
}

function isSpace(byte: number | undefined): boolean {
  return byte === 0x20 || byte === 0x09 || byte === 0x0a || byte === 0x0d;
}

/** `endpoint` is null if the path names no operation. `unguarded`: what the rule lets pass. */
export function bodyRuleOf(endpoint: Endpoint | null, unguarded: readonly Unguarded[]): BodyRule {
  if (endpoint === null) return "any";
  const { tail, operation } = endpoint;
  const transport = FILE_CONTENT.test(tail) ? "files" : BATCH_RESULTS.test(tail) ? "batches" : null;
  if (transport !== null) return unguarded.includes(transport) ? "unguarded" : transport;
  return ANY.has(operation) ? "any" : "format";
}

const ANY: ReadonlySet<string> = new Set(["audio_speech", "images", "audio_transcription", "other"]);
