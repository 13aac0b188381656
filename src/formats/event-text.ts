// The text that a stream event carries, for estimates of the output of streams that ended before their usage was reported.
import { isJsonObject, type JsonObject } from "../base/json.ts";

/** Returns the value if it is a text, else an empty text. */
export function textOrEmpty(value: unknown): string {
  return typeof value === "string" ? value : "";
}

/** Returns the objects of a list; none if the value is no list. */
export function objectsIn(value: unknown): JsonObject[] {
  return Array.isArray(value) ? value.filter(isJsonObject) : [];
}

/** Fields that have audio or images in base64. Signatures and encrypted reasoning are in others. */
const MEDIA = /"(?:data|audio|delta|b64_json|partial_image_b64|result)" ?: ?"[\w+/-]{400}/;
/** Its `data` is encrypted text. */
const REDACTED = "redacted_thinking";

/** Whether JSON, which may be cut off, contains audio or an image. Their length says nothing about tokens. */
export function containsMedia(json: string): boolean {
  return MEDIA.test(json) && !json.includes(REDACTED);
}
