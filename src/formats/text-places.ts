// Where the texts of a request are: in which role, and whether in a result of a tool, its arguments, or a document.
import type { JsonDocument, JsonNode } from "../base/json-nodes.ts";
import { toolOfItem } from "./nameless-tools.ts";
import type { Place } from "./request-text.ts";
import { ROLES, type TextRole } from "./request-text-fields.ts";

export class TextPlaces {
  readonly #json: JsonDocument;
  /** The names of called tools by the id of the call. */
  readonly #calls = new Map<string, string>();

  constructor(json: JsonDocument) {
    this.#json = json;
  }

  /** Returns the strings of a key in lower case, whatever its case in the body. Called a dozen times for each object. */
  valuesOf(node: JsonNode, key: string): readonly string[] {
    const { keys, children } = node;
    let found: string[] | null = null;
    for (let index = 0; index < keys.length; index++) {
      const own = keys[index] ?? "";
      if (own.length !== key.length || (own !== key && own.toLowerCase() !== key)) continue;
      const text = this.#json.text(children[index] ?? null);
      if (text !== null) (found ??= []).push(text);
    }
    return found ?? NO_VALUES;
  }

  firstValueOf(node: JsonNode, keys: readonly string[]): string | undefined {
    for (const key of keys) {
      const [value] = this.valuesOf(node, key);
      if (value !== undefined) return value;
    }
    return undefined;
  }

  /** A message with contradicting roles counts as one of the user. */
  roleOf(message: JsonNode): TextRole {
    const [first, ...others] = this.valuesOf(message, "role");
    if (first === undefined) return roleOfItem(this.firstValueOf(message, TYPE) ?? "");
    const role = roleNamed(first);
    return others.every((other) => roleNamed(other) === role) ? role : "user";
  }

  /** Whether the node is a call of the Responses API. */
  isCall(node: JsonNode, { role, kind }: Place): boolean {
    return (
      role === "assistant" &&
      kind === "text" &&
      this.valuesOf(node, "type").some((type) => type.endsWith("_call"))
    );
  }

  placeOf(node: JsonNode, place: Place): Place {
    if (place.role === "other" || place.message < 0) return place;
    const [type = ""] = this.valuesOf(node, "type");
    const [name = toolOfItem(type)] = this.valuesOf(node, "name");
    const id = this.firstValueOf(node, type.endsWith("_call") ? CALL_IDS : IDS);
    if (name !== null && id !== undefined) this.#calls.set(id, name);
    const called = node.get("function") ?? node.get("custom");
    const calledName = called === null ? null : (this.valuesOf(called, "name")[0] ?? null);
    if (calledName !== null && id !== undefined) this.#calls.set(id, calledName);
    if (type === "tool_use" || type.endsWith("_call") || type === "server_tool_use")
      return { ...place, role: "assistant", tool: name };
    if (calledName !== null || place.kind === "tool_arguments")
      return { ...place, tool: calledName ?? place.tool };
    return this.#placeOfContent(node, place, type, name);
  }

  #placeOfContent(node: JsonNode, place: Place, type: string, name: string | null): Place {
    const resultOf = this.firstValueOf(node, RESULT_IDS);
    if (
      resultOf !== undefined ||
      type.endsWith("tool_result") ||
      (place.role === "tool" && place.kind === "text")
    )
      return {
        ...place,
        role: "tool",
        kind: "tool_result",
        tool: (resultOf === undefined ? null : this.#calls.get(resultOf)) ?? name ?? place.tool,
      };
    if (DOCUMENT_TYPES.has(type) && place.kind === "text") return { ...place, kind: "document" };
    const isRedacted = type === "redacted_thinking" || type === "compaction";
    const isThought = type === "thinking" || type === "reasoning" || type.startsWith("reasoning.");
    const mayBeSigned = isThought || isTrue(this.#json, node.get("thought"));
    return isRedacted || (mayBeSigned && this.#isSigned(node)) ? { ...place, isReadOnly: true } : place;
  }

  #isSigned(node: JsonNode): boolean {
    return SIGNATURES.some((key) => this.valuesOf(node, key).some((value) => value !== ""));
  }
}

const NO_VALUES: readonly string[] = [];
const TYPE = ["type"];
const IDS = ["id"];
const CALL_IDS = ["call_id", "id"];
const RESULT_IDS = ["tool_call_id", "tool_use_id", "call_id"];
const SIGNATURES = ["signature", "encrypted_content", "thoughtsignature", "thought_signature"];
const DOCUMENT_TYPES = new Set(["document", "input_file", "file", "search_result"]);

function isTrue(json: JsonDocument, node: JsonNode | null): boolean {
  return node !== null && json.source(node) === "true";
}

function roleNamed(name: string): TextRole {
  return ROLES.get(name.toLowerCase()) ?? "user";
}

/** The role of an item of the Responses API that has no `role`. */
function roleOfItem(type: string): TextRole {
  if (type.endsWith("_output") || type.endsWith("tool_result")) return "tool";
  return type.endsWith("_call") || type === "reasoning" ? "assistant" : "user";
}
