// Applies a policy to a request: the tools that it offers, and the results of tools that it contains.
import { applySplices, JsonDocument, RequestTexts, type JsonNode } from "../../sdk/index.ts";
import { Policy, UNREADABLE, type Source } from "./policy.ts";
import type { ToolPolicySettings } from "./settings.ts";

export const REMOVED = "[removed by tool_policy]";
const LISTS = ["tools", "functions"];
/** Fields that providers reject in a request without tools. */
const FIELDS_OF_TOOLS = new Set([
  "tool_choice",
  "parallel_tool_calls",
  "function_call",
  "toolConfig",
  "tool_config",
]);

export interface RequestVerdict {
  readonly denied: { readonly source: Source; readonly tool: string } | null;
  /** The changed body; null if it stays as it is. */
  readonly body: Uint8Array | null;
  readonly stripped: { readonly offered: number; readonly result: number };
}

const UNCHANGED: RequestVerdict = { denied: null, body: null, stripped: { offered: 0, result: 0 } };

export function applyToRequest(body: Uint8Array, settings: ToolPolicySettings): RequestVerdict {
  const policy = new Policy(settings);
  const results = policy.has("result") ? applyToResults(body, policy) : UNCHANGED;
  if (results.denied !== null || !policy.has("offered")) return results;
  const offered = applyToOffered(results.body ?? body, policy);
  if (offered.denied !== null) return offered;
  return {
    denied: null,
    body: offered.body ?? results.body,
    stripped: { offered: offered.stripped.offered, result: results.stripped.result },
  };
}

function applyToResults(body: Uint8Array, policy: Policy): RequestVerdict {
  const texts = RequestTexts.read(body);
  const replacements = new Map<number, string>();
  for (const [index, { kind, tool, text }] of (texts?.texts ?? []).entries()) {
    if (kind !== "tool_result") continue;
    const action = policy.decide("result", tool ?? "", parsedResult(text));
    if (action === "deny") return { ...UNCHANGED, denied: { source: "result", tool: tool ?? "" } };
    if (action === "strip") replacements.set(index, REMOVED);
  }
  if (texts === null || replacements.size === 0) return UNCHANGED;
  const stripped = { offered: 0, result: replacements.size };
  return { denied: null, body: texts.replace(replacements), stripped };
}

/** Returns the text itself if it is no JSON. */
export function parsedResult(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

function applyToOffered(body: Uint8Array, policy: Policy): RequestVerdict {
  const json = JsonDocument.parse(body);
  if (json === null || json.root.type !== "object") return UNCHANGED;
  const lists = new OfferedTools(json, policy);
  for (const [index, child] of json.root.children.entries())
    if (LISTS.includes((json.root.keys[index] ?? "").toLowerCase())) lists.read(child);
  const { denied, removed } = lists;
  if (denied !== null) return { ...UNCHANGED, denied: { source: "offered", tool: denied } };
  if (removed.size === 0) return UNCHANGED;
  const chosen = chosenTool(json);
  if (chosen !== null && removed.has(chosen))
    return { ...UNCHANGED, denied: { source: "offered", tool: chosen } };
  return { denied: null, body: lists.encode(), stripped: { offered: removed.size, result: 0 } };
}

/** Returns the tool that the request forces the model to call; null if there is none. */
function chosenTool(json: JsonDocument): string | null {
  const choice = json.root.get("tool_choice") ?? json.root.get("function_call");
  return json.text(choice?.get("name") ?? choice?.get("function")?.get("name") ?? null);
}

class OfferedTools {
  readonly #json: JsonDocument;
  readonly #policy: Policy;
  /** The elements that stay, by list. Gemini has lists of functions within the list of tools. */
  readonly #kept = new Map<JsonNode, JsonNode[]>();
  readonly removed = new Set<string>();
  denied: string | null = null;

  constructor(json: JsonDocument, policy: Policy) {
    this.#json = json;
    this.#policy = policy;
  }

  read(list: JsonNode): void {
    this.#kept.set(
      list,
      list.elements.filter((tool) => this.#isKept(tool)),
    );
  }

  #isKept(tool: JsonNode): boolean {
    const functions = tool.get("functionDeclarations") ?? tool.get("function_declarations");
    if (functions !== null) {
      this.read(functions);
      return (this.#kept.get(functions)?.length ?? 0) > 0 || functions.elements.length === 0;
    }
    const name = this.#nameOf(tool);
    const action = this.#policy.decide("offered", name, this.#valueOf(tool));
    if (action === "deny") this.denied ??= name;
    if (action === "strip") this.removed.add(name);
    return action !== "strip";
  }

  /** Hosted tools have no name but a type, and in Gemini's format a key. */
  #nameOf(tool: JsonNode): string {
    const named = [tool, tool.get("function"), tool.get("custom")];
    for (const node of named) {
      const name = this.#json.text(node?.get("name") ?? null);
      if (name !== null) return name;
    }
    return this.#json.text(tool.get("type")) ?? tool.keys[0] ?? "";
  }

  #valueOf(tool: JsonNode): unknown {
    try {
      return JSON.parse(this.#json.source(tool));
    } catch {
      return UNREADABLE;
    }
  }

  /** Returns the body without the removed tools; without their lists where nothing is left. */
  encode(): Uint8Array {
    const { root } = this.#json;
    const isEmpty = root.children.every((child) => (this.#kept.get(child)?.length ?? 0) === 0);
    const members: Uint8Array[] = [];
    for (const [index, child] of root.children.entries()) {
      const key = root.keys[index] ?? "";
      const isDropped = this.#kept.get(child)?.length === 0 || (isEmpty && FIELDS_OF_TOOLS.has(key));
      if (!isDropped) members.push(this.#encodeMember(root.keyStarts[index] ?? child.start, child));
    }
    return bracketed("{", members, "}");
  }

  #encodeMember(start: number, node: JsonNode): Uint8Array {
    const inner = [...this.#kept]
      .filter(([list]) => list.start >= node.start && list.end <= node.end)
      .map(([list, kept]) => ({ list, bytes: this.#encodeList(list, kept) }));
    const outer = inner.find(({ list }) => list === node);
    const splices = (outer === undefined ? inner : [outer]).map(({ list, bytes }) => ({
      start: list.start - start,
      end: list.end - start,
      bytes,
    }));
    return applySplices(this.#json.bytes.subarray(start, node.end), splices);
  }

  #encodeList(list: JsonNode, kept: readonly JsonNode[]): Uint8Array {
    if (kept.length === list.elements.length && !this.#hasInner(list))
      return this.#json.bytes.subarray(list.start, list.end);
    return bracketed(
      "[",
      kept.map((tool) => this.#encodeTool(tool)),
      "]",
    );
  }

  #hasInner(list: JsonNode): boolean {
    return [...this.#kept.keys()].some(
      (inner) => inner !== list && inner.start > list.start && inner.end < list.end,
    );
  }

  #encodeTool(tool: JsonNode): Uint8Array {
    const functions = tool.get("functionDeclarations") ?? tool.get("function_declarations");
    const bytes = this.#json.bytes.subarray(tool.start, tool.end);
    if (functions === null) return bytes;
    const list = this.#encodeList(functions, this.#kept.get(functions) ?? []);
    return applySplices(bytes, [
      { start: functions.start - tool.start, end: functions.end - tool.start, bytes: list },
    ]);
  }
}

function bracketed(open: string, parts: readonly Uint8Array[], close: string): Uint8Array {
  const separated = parts.flatMap((part, index) => (index === 0 ? [part] : [Buffer.from(","), part]));
  return Buffer.concat([Buffer.from(open), ...separated, Buffer.from(close)]);
}
