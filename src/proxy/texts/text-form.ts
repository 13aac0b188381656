// In which form a body has its texts, by what was requested and by its first bytes. The Content-Type does not decide: clients parse what they
// requested, whatever the provider declares.
import { hasByteOrderMark, utf8Between } from "../../base/byte-search.ts";
import { isTextFile } from "../../base/text-bytes.ts";
import type { Endpoint } from "../../formats/operations.ts";

/** `events`: an event stream, inspected as it arrives. `whole`: inspected when all of it has arrived. Null: media, or no body. */
export type TextForm = "events" | "whole" | null;

/**
 * What the body of a response may be. `format`: a body or stream of the format of the endpoint, and nothing else. `any`: also a text, or
 * media. `images`: JSON, or media. `file`: what its type says; the contents of a file are those that were uploaded or generated for download.
 */
export type BodyRule = "format" | "any" | "images" | "file";

/** What lines of an event stream start with; the last one is that of a comment. */
const EVENT_FIELDS = ["data:", "event:", "id:", "retry:", ":"];
const LONGEST_FIELD = 8;
const FILE_CONTENT = /\/files\/[^/]+\/content$|\/batches\/[^/]+\/results$/;

const JSON_TYPE = /^application\/(?:[\w.-]+\+)?json\b/i;
const PLAIN_TEXT = /^text\/plain\b/i;

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
  const start = startOf(first, rule === "format");
  if (start === "blank") return isStream ? "events" : "whole";
  switch (rule) {
    case "format":
      return start === "events" ? "events" : "whole";
    case "file":
      if (isStream) return "events";
      return JSON_TYPE.test(type ?? "") || (start === "json" && isUndeclared(type)) ? "whole" : null;
    case "images":
    case "any":
      if (isStream && start !== "json") return "events";
      if (start === "json" || JSON_TYPE.test(type ?? "")) return "whole";
      return rule === "any" && isTextFile(type, first) ? "whole" : null;
  }
}

function isUndeclared(type: string | null): boolean {
  return type === null || PLAIN_TEXT.test(type);
}

function isSpace(byte: number | undefined): boolean {
  return byte === 0x20 || byte === 0x09 || byte === 0x0a || byte === 0x0d;
}

/** `endpoint` is null if the path names no operation. */
export function bodyRuleOf(endpoint: Endpoint | null): BodyRule {
  if (endpoint === null) return "any";
  if (FILE_CONTENT.test(endpoint.tail)) return "file";
  switch (endpoint.operation) {
    case "audio_speech":
      return "file";
    case "images":
      return "images";
    case "audio_transcription":
    case "other":
      return "any";
    default:
      return "format";
  }
}
