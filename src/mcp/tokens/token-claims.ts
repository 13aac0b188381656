// What the claims of a verified token say about its client: the user, the labels, and the tools.
import { isJsonObject, type JsonObject } from "../../base/json.ts";
import type { JwtIssuer } from "../../model/jwt-issuer.ts";

const MAX_USER_LENGTH = 256;
/** As for the labels of API keys. */
const MAX_LABEL_LENGTH = 128;
const MAX_TOOLS = 100;
const CONTROL_CHARACTER = /\p{Cc}/u;

export interface TokenClient {
  readonly user: string;
  /** Sorted by name, as those of API keys. */
  readonly labels: Readonly<Record<string, string>>;
  /** Patterns; null: all tools. */
  readonly tools: readonly string[] | null;
}

/** A claim that the issuer's configuration needs is absent or has a value that cannot be used. */
export class ClaimError extends Error {}

/** Throws a ClaimError. */
export function readClaims(payload: JsonObject, { claims }: Pick<JwtIssuer, "claims">): TokenClient {
  const labels: [string, string][] = [];
  for (const name of Object.keys(claims.labels).sort()) {
    const claim = claims.labels[name] ?? "";
    const value = claimIn(payload, claim);
    // A value that is left out would avoid the budgets and limits of its label.
    if (value !== undefined) labels.push([name, textClaim(value, claim, MAX_LABEL_LENGTH)]);
  }
  return {
    user: textClaim(claimIn(payload, claims.user), claims.user, MAX_USER_LENGTH),
    labels: Object.fromEntries(labels),
    tools: claims.tools === null ? null : toolsClaim(claimIn(payload, claims.tools), claims.tools),
  };
}

/** `a.b` is the member `b` of the claim `a`, unless there is a claim `a.b`. Inherited properties are no claims. */
function claimIn(payload: JsonObject, name: string): unknown {
  if (Object.hasOwn(payload, name)) return payload[name];
  let value: unknown = payload;
  for (const member of name.split(".")) {
    if (!isJsonObject(value) || !Object.hasOwn(value, member)) return undefined;
    value = value[member];
  }
  return value;
}

function textClaim(value: unknown, claim: string, maxLength: number): string {
  const text = typeof value === "number" || typeof value === "boolean" ? String(value) : value;
  if (
    typeof text !== "string" ||
    text.trim() === "" ||
    text.length > maxLength ||
    CONTROL_CHARACTER.test(text)
  )
    throw new ClaimError(`The claim ${claim} must be a text of 1 to ${maxLength} characters.`);
  return text;
}

function toolsClaim(value: unknown, claim: string): readonly string[] {
  if (value === undefined || value === null) return [];
  const patterns: unknown =
    typeof value === "string" ? value.split(" ").filter((each) => each !== "") : value;
  if (
    !Array.isArray(patterns) ||
    patterns.length > MAX_TOOLS ||
    !patterns.every((each) => typeof each === "string")
  )
    throw new ClaimError(`The claim ${claim} must have at most ${MAX_TOOLS} patterns of tools.`);
  return patterns;
}
