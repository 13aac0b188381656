// The body of a request under test, and what plugins read of it.
import type { PluginContext } from "./contexts.ts";
import type { ReadonlyHeaders } from "./readonly-headers.ts";

export function bodyText(body: unknown): string | null {
  if (body === undefined) return null;
  return typeof body === "string" ? body : JSON.stringify(body);
}

/** Returns null for text that is no JSON object. */
export function objectIn(text: string | null): Readonly<Record<string, unknown>> | null {
  const value = parseJson(text);
  return isJsonObject(value) ? value : null;
}

export function textIn(json: Readonly<Record<string, unknown>> | null, field: string): string | null {
  const text = json?.[field];
  return typeof text === "string" && text !== "" ? text : null;
}

/** Returns undefined for text that is not valid JSON. */
export function parseJson(text: string | null): unknown {
  if (text === null) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function isJsonObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** As if the gateway did not have `trust_user_header`. */
export function userKeyOf(
  { apiKey }: PluginContext,
  headers: Pick<ReadonlyHeaders, "get">,
  body: string | null,
): string {
  return `${apiKey?.id ?? "anonymous"}/${headers.get("x-user-id") ?? textIn(objectIn(body), "user") ?? ""}`;
}
