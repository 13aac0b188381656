// Reads reasoning details of messages, and packs those that the format of a client has no place for into one string, which
// the client sends back unchanged.
import { parseBounded } from "../base/bounded-json.ts";
import { isJsonObject } from "../base/json.ts";
import type { ReasoningDetail } from "./chat-extensions.ts";

/** No provider's data starts like this: base64 and base64url have no dot. */
export const REASONING_PREFIX = "gw1.";

/** The prefix in a JSON string, for a quick search in bodies. */
export const PACKED_IN_JSON = Buffer.from(`"${REASONING_PREFIX}`);

const TYPES = new Set<unknown>(["reasoning.text", "reasoning.summary", "reasoning.encrypted"]);
const FORMATS = new Set<unknown>(["anthropic", "responses", "gemini"]);
const TEXTS = ["text", "summary", "data", "signature", "id", "target"] as const;

/** Whether the value is a detail that the gateway wrote. Those of other routers have other formats. */
export function isReasoningDetail(value: unknown): value is ReasoningDetail {
  if (!isJsonObject(value) || !TYPES.has(value["type"]) || !FORMATS.has(value["format"])) return false;
  for (const key of TEXTS) if (value[key] !== undefined && typeof value[key] !== "string") return false;
  return true;
}

/** Whether the value is something that the gateway wrote for reasoning of another format. */
export function isPacked(value: unknown): boolean {
  return typeof value === "string" && value.startsWith(REASONING_PREFIX);
}

export function packDetail(detail: ReasoningDetail): string {
  return REASONING_PREFIX + Buffer.from(JSON.stringify(detail)).toString("base64url");
}

/** Returns null if `data` is not a packed detail. */
export function unpackDetail(data: string): ReasoningDetail | null {
  if (!data.startsWith(REASONING_PREFIX)) return null;
  try {
    const value: unknown = parseBounded(
      Buffer.from(data.slice(REASONING_PREFIX.length), "base64url").toString(),
    );
    return isReasoningDetail(value) ? value : null;
  } catch {
    return null;
  }
}
