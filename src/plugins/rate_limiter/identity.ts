// Determines the subject that a request is counted for: its address, its user or its fingerprint.
import { createHash } from "node:crypto";
import { networkOf, type ClaimContext, type RequestContext } from "../../sdk/index.ts";

export type LabelLimitType = `per_label:${string}`;
export type LimitType =
  | "per_fingerprint"
  | "per_ip"
  | "per_user"
  | "per_key"
  | LabelLimitType
  | "per_model"
  | "per_tool"
  | "global";

const CREDENTIALS = [
  "x-gw-api-key",
  "authorization",
  "x-api-key",
  "api-key",
  "x-goog-api-key",
  "ocp-apim-subscription-key",
];
/** The query parameter in which Google's clients send their key. */
const KEY_PARAMETER = "key";
const MAX_SUBJECT_LENGTH = 256;

const LABEL_PREFIX = "per_label:";

/** The context of a request whose body may still be arriving: then its model is not known. */
export type LimitedRequest = RequestContext & Partial<Pick<ClaimContext, "countedModel">>;

/** Returns null if the limit does not apply. `ipv6Prefix` is the length of the prefix that `per_ip` counts as one client. */
export function subjectOf(type: LimitType, context: LimitedRequest, ipv6Prefix: number): string | null {
  switch (type) {
    case "global":
      return "";
    case "per_ip":
      return networkOf(context.clientAddress, ipv6Prefix);
    case "per_user":
      return userOf(context);
    case "per_fingerprint":
      return fingerprintOf(context);
    case "per_key":
      return context.apiKey === null ? "anonymous" : `key:${context.apiKey.id}`;
    case "per_model": {
      // A client must not be able to avoid the limit by hiding the model: those that are not known share one count.
      const { countedModel = null } = context;
      return countedModel === null ? "unknown" : bounded(`model:${countedModel}`);
    }
    case "per_tool":
      return context.tool === null ? null : bounded(`tool:${context.tool.name}`);
    default:
      return context.apiKeyLabel(type.slice(LABEL_PREFIX.length));
  }
}

/** Whether `subjectOf` needs no body: the model and the tool are in the body, and so may be a user without X-User-ID and API key. */
export function isKnownWithoutBody(type: LimitType, { headers, apiKey }: RequestContext): boolean {
  if (type === "per_model" || type === "per_tool") return false;
  if (type !== "per_user" && type !== "per_fingerprint") return true;
  return apiKey !== null || (headers.get("x-user-id") ?? "") !== "";
}

/** X-User-ID, else the API key, else the `user` of the body, else one shared subject for anonymous requests. */
function userOf(context: RequestContext): string {
  const { headers, apiKey } = context;
  const named = headers.get("x-user-id");
  if (named !== null && named !== "") return bounded(`id:${named}`);
  if (apiKey !== null) return `key:${apiKey.id}`;
  const { bodyUser } = context;
  return bodyUser === null ? "anonymous" : bounded(`user:${bodyUser}`);
}

/** A hash over user, credential, address and User-Agent, so that a counter key never reveals a credential. */
function fingerprintOf(context: RequestContext): string {
  const { headers, apiKey, clientAddress, query } = context;
  let credential = apiKey?.id ?? "";
  for (const name of CREDENTIALS) if (credential === "") credential = headers.get(name) ?? "";
  if (credential === "" && query !== "") credential = new URLSearchParams(query).get(KEY_PARAMETER) ?? "";
  const parts = [userOf(context), credential, clientAddress, headers.get("user-agent") ?? ""];
  return createHash("sha256").update(JSON.stringify(parts)).digest("base64url");
}

/** Hashes long subjects: a client must not control the length of a counter key, and two long names must stay distinct. */
function bounded(subject: string): string {
  if (subject.length <= MAX_SUBJECT_LENGTH) return subject;
  return `sha256:${createHash("sha256").update(subject).digest("base64url")}`;
}
