// Recognizes audio and images in responses, for estimates of the output: their length says nothing about tokens.

/** Fields that have audio or images in base64. Signatures and encrypted reasoning are in others. */
const MEDIA = /"(?:data|audio|delta|b64_json|partial_image_b64|result)" ?: ?"[\w+/-]{400}/;
/** Its `data` is encrypted text. */
const REDACTED = "redacted_thinking";

/** Whether JSON, which may be cut off, contains audio or an image. */
export function containsMedia(json: string): boolean {
  return MEDIA.test(json) && !json.includes(REDACTED);
}
