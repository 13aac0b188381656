// Applies a policy to a request: the tools that it offers, and the results of tools that it contains.
import { isJsonType, JsonDocument, namesOtherCharset, readBodyTexts, RequestTexts } from "../../sdk/index.ts";
import { OfferedTools } from "./offered-tools.ts";
import type { Policy, Source } from "./policy.ts";
import { decideResult } from "./result-policy.ts";

export const REMOVED = "[removed by tool_policy]";

export interface RequestVerdict {
  readonly denied: { readonly source: Source; readonly tool: string } | null;
  /** The changed body; null if it stays as it is. */
  readonly body: Uint8Array | null;
  readonly stripped: { readonly offered: number; readonly result: number };
  /** What in the body cannot be read although a server may read tools in it; null if there is nothing. */
  readonly unreadable: string | null;
}

const UNCHANGED: RequestVerdict = {
  denied: null,
  body: null,
  stripped: { offered: 0, result: 0 },
  unreadable: null,
};

export function applyToRequest(body: Uint8Array, contentType: string | null, policy: Policy): RequestVerdict {
  const unreadable = unreadableIn(body, contentType);
  if (unreadable !== null) return { ...UNCHANGED, unreadable };
  const results = policy.has("result") ? applyToResults(body, policy) : UNCHANGED;
  if (results.denied !== null || results.unreadable !== null || !policy.has("offered")) return results;
  const offered = applyToOffered(results.body ?? body, policy);
  if (offered.denied !== null) return offered;
  return {
    ...UNCHANGED,
    body: offered.body ?? results.body,
    stripped: { offered: offered.stripped.offered, result: results.stripped.result },
  };
}

function unreadableIn(body: Uint8Array, contentType: string | null): string | null {
  // JSON is validated before the plugins run, as UTF-8.
  const isRead = isJsonType(contentType) && !namesOtherCharset(contentType ?? "");
  return isRead ? null : readBodyTexts(body, contentType).unreadable;
}

function applyToResults(body: Uint8Array, policy: Policy): RequestVerdict {
  const texts = RequestTexts.read(body);
  if (texts !== null && texts.ambiguous !== null) return { ...UNCHANGED, unreadable: texts.ambiguous };
  const stripped: number[] = [];
  for (const [position, result] of (texts?.results ?? []).entries()) {
    const { action, tool } = decideResult(policy, result);
    if (action === "deny") return { ...UNCHANGED, denied: { source: "result", tool } };
    // There is nothing to strip in a result without text.
    if (action === "strip" && result.blocks.length > 0) stripped.push(position);
  }
  if (texts === null || stripped.length === 0) return UNCHANGED;
  const counts = { offered: 0, result: stripped.length };
  return { ...UNCHANGED, body: texts.replaceResults(stripped, REMOVED), stripped: counts };
}

function applyToOffered(body: Uint8Array, policy: Policy): RequestVerdict {
  const json = JsonDocument.parse(body);
  if (json === null || json.root.type !== "object") return UNCHANGED;
  const offered = new OfferedTools(json, policy);
  offered.read();
  const { denied, removed } = offered;
  if (denied !== null) return { ...UNCHANGED, denied: { source: "offered", tool: denied } };
  if (removed.size === 0) return UNCHANGED;
  return { ...UNCHANGED, body: offered.encode(), stripped: { offered: removed.size, result: 0 } };
}
