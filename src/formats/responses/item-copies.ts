// The AI SDK refers to the items of earlier responses by their ids, because it believes that they are
// stored: it decides so by its own option `store`, whatever the response says. Translated responses are not
// stored. Responses to it therefore end with a reasoning item whose id contains the other items, and which
// the SDK refers to as well: its requests are self-contained.
import { isJsonObject, type JsonObject } from "../../base/json.ts";
import { REASONING_PREFIX } from "../reasoning-details.ts";
import type { OutputItem, ReasoningItem } from "./wire-types.ts";

/** Begins like other things that only the gateway can read, so that requests with them are recognized. */
const PREFIX = `${REASONING_PREFIX}items.`;
/**
 * In User-Agent of the AI SDK, whichever its provider: `ai-sdk/provider-utils/4.0.65`,
 * `ai-sdk-provider-utils/5.0.81`.
 */
const REFERRING_CLIENTS = /\bai-sdk[/-]/;

/**
 * The content of a copied item: the text of a message, a summary, encrypted reasoning, or a call of a
 * function or custom tool.
 */
type Kind = "m" | "s" | "r" | "f" | "c";
/** Between the call id, the name, the namespace and the arguments of a call. */
const SEPARATOR = "\0";

export function refersToItems(userAgent: string | null): boolean {
  return userAgent !== null && REFERRING_CLIENTS.test(userAgent);
}

/** Returns the item with copies of those that clients refer to; null if there are none. */
export function copyOf(output: readonly OutputItem[]): ReasoningItem | null {
  const fields = output.flatMap(fieldsOf);
  if (fields.length === 0) return null;
  const id = PREFIX + fields.map((field) => Buffer.from(field).toString("base64url")).join(".");
  return { id, type: "reasoning", summary: [] };
}

/**
 * Three fields per item: its id, its kind, and its content. No JSON, which would have to be checked for its
 * depth.
 */
function fieldsOf(item: OutputItem): [string, Kind, string] | [] {
  if (item.type === "message") {
    const texts = item.content.map((part) => (part.type === "output_text" ? part.text : part.refusal));
    return [item.id, "m", texts.join("")];
  }
  if (item.type === "function_call" || item.type === "custom_tool_call") return callFields(item);
  if (item.type !== "reasoning") return [];
  if (item.encrypted_content !== undefined) return [item.id, "r", item.encrypted_content];
  const text = item.summary.map((part) => part.text).join("");
  return text === "" ? [] : [item.id, "s", text];
}

/** Version 5 of the AI SDK refers to calls as well; later ones send them. */
function callFields(item: Extract<OutputItem, { name: string }>): [string, Kind, string] | [] {
  const { id, call_id, name, namespace = "" } = item;
  if ([call_id, name, namespace].some((field) => field.includes(SEPARATOR))) return [];
  const isFunction = item.type === "function_call";
  const input = isFunction ? item.arguments : item.input;
  return [id, isFunction ? "f" : "c", [call_id, name, namespace, input].join(SEPARATOR)];
}

export function isCopy(item: unknown): boolean {
  return isJsonObject(item) && typeof item["id"] === "string" && item["id"].startsWith(PREFIX);
}

/**
 * Returns the items of a request with those that it refers to. Each copy is used once: a request that
 * repeats a reference must not become larger than what the client has sent.
 */
export function resolveReferences(items: readonly unknown[]): readonly unknown[] {
  if (!items.some(isCopy)) return items;
  const copies = new Map<unknown, JsonObject>();
  for (const item of items) if (isCopy(item) && isJsonObject(item)) addCopies(copies, String(item["id"]));
  return items.map((item) => {
    if (!isJsonObject(item) || !isReference(item)) return item;
    const copied = copies.get(item["id"]);
    copies.delete(item["id"]);
    return copied ?? item;
  });
}

export function isReference({ type, role }: JsonObject): boolean {
  return type === "item_reference" || ((type ?? null) === null && role === undefined);
}

function addCopies(copies: Map<unknown, JsonObject>, id: string): void {
  const fields = id
    .slice(PREFIX.length)
    .split(".")
    .map((field) => Buffer.from(field, "base64url").toString());
  for (let at = 0; at + 2 < fields.length; at += 3) {
    const [itemId, kind, content = ""] = fields.slice(at, at + 3);
    if (kind === "m") {
      const text = { type: "output_text", text: content };
      copies.set(itemId, { type: "message", role: "assistant", content: [text] });
    } else if (kind === "f" || kind === "c") copies.set(itemId, callOf(kind, content));
    else if (kind === "r") copies.set(itemId, { type: "reasoning", summary: [], encrypted_content: content });
    else if (kind === "s")
      copies.set(itemId, { type: "reasoning", summary: [{ type: "summary_text", text: content }] });
  }
}

function callOf(kind: "f" | "c", content: string): JsonObject {
  const [call_id = "", name = "", namespace = "", ...rest] = content.split(SEPARATOR);
  const input = rest.join(SEPARATOR);
  const call = { call_id, name, ...(namespace === "" ? {} : { namespace }) };
  return kind === "f"
    ? { type: "function_call", ...call, arguments: input }
    : { type: "custom_tool_call", ...call, input };
}
