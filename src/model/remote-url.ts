// Addresses of other servers in records: an absolute http or https URL that is no link-local or metadata address.
import { z } from "zod";
import { isForbiddenHost } from "../base/forbidden-address.ts";

const MAX_URL_LENGTH = 2048;

/** Returns why a text is no address that the gateway may send requests to; null if it is one. */
export function remoteUrlProblem(text: string, example: string): string | null {
  if (!URL.canParse(text)) return `must be an absolute URL such as ${example}`;
  const url = new URL(text);
  if (url.protocol !== "http:" && url.protocol !== "https:") return "must start with http:// or https://";
  if (url.username !== "" || url.password !== "")
    return "must not contain a user or password; use credentials";
  if (text.includes("#")) return "must not contain a fragment";
  if (isForbiddenHost(url.hostname)) return "must not be a link-local or metadata address";
  return null;
}

/** A URL for which `problemOf` returns null. */
export function urlField(problemOf: (text: string) => string | null) {
  return z
    .string()
    .max(MAX_URL_LENGTH, `must not be longer than ${MAX_URL_LENGTH} characters`)
    .superRefine((text, context) => {
      const message = problemOf(text);
      if (message !== null) context.addIssue({ code: "custom", message });
    });
}
