// Thought signatures: Gemini's encrypted reasoning, which belongs to one part of a response and must be sent back with it.
// In the hub format they are reasoning_details, with the id of the tool call that they belong to.
import { isJsonObject, type JsonObject } from "../../base/json.ts";
import type { ReasoningDetail } from "../chat-extensions.ts";
import { readArray } from "../read-fields.ts";
import type { TranslationReport } from "../translation-report.ts";

/**
 * Gemini 3 rejects the first function call of a step without a signature. Google documents this value for calls that another
 * model made, or whose signature was lost.
 */
export const SKIPPED_SIGNATURE = "skip_thought_signature_validator";

interface Signatures {
  /** By the id of the tool call. */
  readonly ofCalls: ReadonlyMap<string, string>;
  readonly ofText: readonly string[];
}

const NO_SIGNATURES: Signatures = { ofCalls: new Map(), ofText: [] };

export function toReasoningDetail(signature: string, callId: string | null): ReasoningDetail {
  const detail = { type: "reasoning.encrypted", format: "gemini", data: signature } as const;
  return callId === null ? detail : { ...detail, id: callId };
}

/** Reads the signatures of an assistant message. Reasoning of other formats is reported as dropped. */
export function readSignatures(message: JsonObject, path: string, report: TranslationReport): Signatures {
  report.dropPresent(message, ["reasoning_content"]);
  const details = readArray(message, "reasoning_details", path) ?? [];
  if (details.length === 0) return NO_SIGNATURES;
  const ofCalls = new Map<string, string>();
  const ofText: string[] = [];
  for (const detail of details) {
    const data = signatureOf(detail);
    if (data === null) report.drop("reasoning");
    else if (data.id === null) ofText.push(data.signature);
    else ofCalls.set(data.id, data.signature);
  }
  return { ofCalls, ofText };
}

function signatureOf(detail: unknown): { signature: string; id: string | null } | null {
  if (!isJsonObject(detail) || detail["format"] !== "gemini") return null;
  const { type, data, id } = detail;
  if (type !== "reasoning.encrypted" || typeof data !== "string") return null;
  return { signature: data, id: typeof id === "string" ? id : null };
}
