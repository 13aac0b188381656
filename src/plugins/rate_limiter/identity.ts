// Who a request counts for: its address, its user, its fingerprint.
import { createHash } from "node:crypto";
import type { RequestContext } from "../../sdk/index.ts";

export type LimitType = "per_fingerprint" | "per_ip" | "per_user" | "global";

const CREDENTIALS = ["x-gw-api-key", "authorization", "x-api-key", "api-key"];
const MAX_SUBJECT = 256;

export function subjectOf(type: LimitType, context: RequestContext): string {
  switch (type) {
    case "global":
      return "";
    case "per_ip":
      return context.clientAddress;
    case "per_user":
      return userOf(context);
    case "per_fingerprint":
      return fingerprintOf(context);
  }
}

/** X-User-ID, else the API key, else the body's user, else one for all who say nothing. */
function userOf({ headers, apiKey, json }: RequestContext): string {
  const named = headers.get("x-user-id");
  if (named !== null && named !== "") return bounded(`id:${named}`);
  if (apiKey !== null) return `key:${apiKey.id}`;
  const user = json?.["user"];
  return typeof user === "string" && user !== "" ? bounded(`user:${user}`) : "anonymous";
}

/** The credential goes in as a hash like the rest: nothing of it can be read from a counter's key. */
function fingerprintOf(context: RequestContext): string {
  const { headers, apiKey, clientAddress } = context;
  let credential = apiKey?.id ?? "";
  for (const name of CREDENTIALS) if (credential === "") credential = headers.get(name) ?? "";
  const parts = [userOf(context), credential, clientAddress, headers.get("user-agent") ?? ""];
  return createHash("sha256").update(JSON.stringify(parts)).digest("base64url");
}

/** A name of any length must not make a counter's key of any length; two long names still count apart. */
function bounded(subject: string): string {
  if (subject.length <= MAX_SUBJECT) return subject;
  return `sha256:${createHash("sha256").update(subject).digest("base64url")}`;
}
