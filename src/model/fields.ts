// Schemas of fields that several resources share.
import { z } from "zod";

const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/; // RFC 9110, section 5.6.2
// Field values: visible characters, spaces, tabs, and obs-text. CR and LF would start a new header field.
const FIELD_VALUE = /^[^\x00-\x08\x0A-\x1F\x7F\u0100-\uFFFF]*$/;
const PRINTABLE = /^[^\x00-\x1F\x7F]*$/;

export const nameField = z
  .string()
  .min(1, "must not be empty")
  .max(255, "must not be longer than 255 characters")
  .regex(PRINTABLE, "must not contain control characters");

export const textField = z.string().max(4096, "must not be longer than 4096 characters");

export const idField = z
  .string()
  .min(1, "must not be empty")
  .max(64, "must not be longer than 64 characters");

export const MIN_PRIORITY = -1_000_000;
export const MAX_PRIORITY = 1_000_000;
export const priorityField = z.int().min(MIN_PRIORITY).max(MAX_PRIORITY);

export const headerNameField = z
  .string()
  .max(256, "must not be longer than 256 characters")
  .regex(TOKEN, "must be an HTTP header name");

export const headerValueField = z
  .string()
  .max(8192, "must not be longer than 8192 characters")
  .regex(FIELD_VALUE, "must be a valid HTTP header value, without line breaks");

/** Headers by name. Names that differ only in case are the same header in HTTP, so they are rejected. */
export const headersField = z.record(headerNameField, headerValueField).superRefine((headers, context) => {
  const names = Object.keys(headers);
  if (names.length > 64)
    context.addIssue({ code: "custom", message: "must not contain more than 64 headers" });
  const seen = new Set<string>();
  for (const name of names) {
    if (seen.has(name.toLowerCase())) {
      context.addIssue({
        code: "custom",
        path: [name],
        message: "is given twice (header names are case-insensitive)",
      });
    }
    seen.add(name.toLowerCase());
  }
});
