// Where the texts of a request are: in which role, and whether in a result of a tool, its arguments, or a document.
import { foldCase } from "../base/fold-case.ts";
import type { JsonDocument, JsonNode } from "../base/json-nodes.ts";
import { isMediaType, isTextType } from "../base/text-bytes.ts";
import { hostedTool, type ToolPart } from "./gemini/tool-parts.ts";
import { isCallType, isResultType, roleOfType } from "./item-types.ts";
import { toolOfItem } from "./nameless-tools.ts";
import type { Place } from "./request-text.ts";
import { ROLES, type TextRole } from "./request-text-fields.ts";
import { signedMembersOf } from "./signed-reasoning.ts";

/** The names with which one message calls a tool under the same id. */
interface Called {
  readonly message: number;
  readonly names: Set<string>;
}

export class TextPlaces {
  readonly #json: JsonDocument;
  /** By the id of the call. */
  readonly #calls = new Map<string, Called>();
  /** What in the body contradicts itself so often that it is not read; null if there is nothing. */
  ambiguous: string | null = null;

  constructor(json: JsonDocument) {
    this.#json = json;
  }

  /** Returns the strings of a key in lower case, whatever its case in the body. Called a dozen times for each object. */
  valuesOf(node: JsonNode, key: string): readonly string[] {
    const { keys, children } = node;
    let found: string[] | null = null;
    for (let index = 0; index < keys.length; index++) {
      const own = keys[index] ?? "";
      if (own.length !== key.length || (own !== key && foldCase(own) !== key)) continue;
      const text = this.#json.text(children[index] ?? null);
      if (text !== null) (found ??= []).push(text);
    }
    return found ?? NO_VALUES;
  }

  /** Returns the media type of a file, in lower case: of several, of which servers may read any, one of text. Null if there is none. */
  mediaTypeOf(node: JsonNode): string | null {
    const values = MEDIA_TYPES.flatMap((key) => this.valuesOf(node, key));
    const types = values.map((value) => value.trim().toLowerCase());
    return types.find(isTextType) ?? types.find((type) => !isMediaType(type)) ?? types[0] ?? null;
  }

  isTrue(node: JsonNode, key: string): boolean {
    const value = node.get(key);
    return value !== null && this.#json.source(value) === "true";
  }

  /** A message whose roles contradict each other, or its type, counts as one of the user: those are inspected most. */
  roleOf(message: JsonNode): TextRole {
    let role: TextRole | null = null;
    for (const name of this.valuesOf(message, "role")) role = merge(role, roleNamed(name));
    for (const type of this.valuesOf(message, "type")) role = merge(role, roleOfType(type));
    return role ?? "user";
  }

  /** Whether the node is a call, which may contain its result. */
  isCall(node: JsonNode, { kind }: Place): boolean {
    return kind === "text" && this.valuesOf(node, "type").some((type) => type.endsWith("_call"));
  }

  /** Returns the members of the node that its provider signed; null if there are none. `member`: the key of the node or of its list. */
  signedMembersOf(node: JsonNode, { role, kind }: Place, member: string): ReadonlySet<string> | null {
    return role === "assistant" && kind === "text" ? signedMembersOf(node, member, this) : null;
  }

  placeOf(node: JsonNode, place: Place): Place {
    if (place.role === "other" || place.message < 0) return place;
    const types = this.valuesOf(node, "type");
    const [type = ""] = types;
    const isCall = types.some(isCallType);
    const names = this.#calledNames(node);
    const called = names[0] ?? null;
    this.#addCalls(node, place, isCall, names);
    const isResult =
      types.some(isResultType) ||
      (place.role === "tool" && place.kind === "text") ||
      this.valuesOf(node, "role").some((role) => roleNamed(role) === "tool") ||
      (!isCall && RESULT_IDS.some((key) => this.valuesOf(node, key).length > 0));
    if (isResult) return this.#placeOfResult(node, place, types);
    if (isCall) return { ...place, tool: this.valuesOf(node, "name")[0] ?? toolOfItem(type) };
    if (called !== null || place.kind === "tool_arguments") return { ...place, tool: called ?? place.tool };
    const isDocument = DOCUMENT_TYPES.has(type) && place.kind === "text" && !this.#hasRole(node);
    return isDocument ? { ...place, kind: "document" } : place;
  }

  /**
   * Whether many members of the object have names that earlier ones have. Each of them may be the one that a server reads, so the work on such an
   * object would be the product of their numbers.
   */
  isAmbiguous({ keys }: JsonNode): boolean {
    if (keys.length <= MAX_EQUAL || keys.length - new Set(keys.map(foldCase)).size <= MAX_EQUAL) return false;
    this.ambiguous ??= `an object with more than ${MAX_EQUAL} equal members`;
    return true;
  }

  /** Returns the names of the tool whose result the node is: more than one if the request contradicts itself. */
  toolsOf(node: JsonNode): Set<string> {
    const names = new Set<string>();
    for (const key of RESULT_IDS)
      for (const id of this.valuesOf(node, key))
        for (const name of this.#calls.get(id)?.names ?? NO_VALUES) names.add(name);
    return names;
  }

  /** Returns the names of the tool that a part of Gemini calls, or whose result it is: none if it is not known. */
  toolsOfPart(node: JsonNode, { tool, isHosted }: ToolPart): readonly string[] {
    if (tool !== null) return [tool];
    if (!isHosted) return this.valuesOf(node, "name");
    return HOSTED_NAMES.flatMap((key) => this.valuesOf(node, key).map(hostedTool));
  }

  /** What neither a role nor a known type says to be of a tool is a contradiction. */
  #placeOfResult(node: JsonNode, place: Place, types: readonly string[]): Place {
    const isTyped = types.length > 0 && types.every((type) => roleOfType(type) === "tool");
    const isOfTool = place.role === "tool" || (isTyped && !this.#hasRole(node));
    const [called] = this.toolsOf(node);
    const own = this.valuesOf(node, "name")[0] ?? toolOfItem(types[0] ?? "");
    return {
      ...place,
      role: isOfTool ? "tool" : "user",
      kind: "tool_result",
      tool: called ?? own ?? place.tool,
    };
  }

  #hasRole(node: JsonNode): boolean {
    return this.valuesOf(node, "role").length > 0;
  }

  #addCalls(node: JsonNode, { role, message }: Place, isCall: boolean, called: readonly string[]): void {
    if (!isCall && called.length === 0) return;
    const [type = ""] = this.valuesOf(node, "type");
    const own = isCall ? this.valuesOf(node, "name") : NO_VALUES;
    const unnamed = isCall && own.length === 0 ? toolOfItem(type) : null;
    const names = [...own, ...called, ...(unnamed === null ? NO_VALUES : [unnamed])];
    if (names.length === 0) return;
    if (names.length > MAX_EQUAL) {
      this.ambiguous ??= MANY_NAMES;
      return;
    }
    for (const key of type.endsWith("_call") ? CALL_IDS : IDS)
      for (const id of this.valuesOf(node, key)) this.#addCall(id, names, message, role === "assistant");
  }

  /** Ids may be used again by later messages. A call that is not the assistant's is none, but its name counts as well. */
  #addCall(id: string, names: readonly string[], message: number, isOfAssistant: boolean): void {
    const known = this.#calls.get(id);
    if (known === undefined || (isOfAssistant && known.message !== message))
      this.#calls.set(id, { message, names: new Set(names) });
    else if (known.names.size > MAX_EQUAL) this.ambiguous ??= MANY_NAMES;
    else for (const name of names) known.names.add(name);
  }

  /** The names in the object of a call in the format of chat completions. */
  #calledNames({ keys, children }: JsonNode): readonly string[] {
    let names: string[] | null = null;
    for (let index = 0; index < keys.length; index++) {
      const [key = "", child] = [keys[index], children[index]];
      if (child?.type !== "object" || !CALL_MEMBERS.has(foldCase(key))) continue;
      for (const name of this.valuesOf(child, "name")) (names ??= []).push(name);
    }
    return names ?? NO_VALUES;
  }
}

const NO_VALUES: readonly string[] = [];
/** Of equal members of an object, and of names of one call. Clients send none, and at most a few by mistake. */
const MAX_EQUAL = 16;
const MANY_NAMES = `a call with more than ${MAX_EQUAL} names`;
const IDS = ["id"];
const CALL_IDS = ["call_id", "id"];
const RESULT_IDS = ["tool_call_id", "tool_use_id", "call_id"];
const MEDIA_TYPES = ["media_type", "mimetype", "mime_type"];
const HOSTED_NAMES = ["tooltype", "tool_type"];
const CALL_MEMBERS = new Set(["function", "custom"]);
const DOCUMENT_TYPES = new Set(["document", "input_file", "file", "search_result"]);

function roleNamed(name: string): TextRole {
  return ROLES.get(name.toLowerCase()) ?? "user";
}

function merge(one: TextRole | null, other: TextRole | null): TextRole | null {
  if (one === null || other === null) return one ?? other;
  return one === other ? one : "user";
}

/** The role of the result of a call that contains it. */
export function roleOfOutput({ role }: Place): TextRole {
  return role === "assistant" ? "tool" : role;
}

/** Gemini wraps calls and results in objects without a type. */
export function isArguments(key: string, child: JsonNode, { role, kind }: Place): boolean {
  if (kind !== "text" || child.type === "scalar") return false;
  if (key === "arguments" || key === "args") return true;
  return key === "input" && (child.type === "object" || (role === "assistant" && child.type === "string"));
}
