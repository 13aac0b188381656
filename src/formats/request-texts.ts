// The texts of a request body by role, in every format, and replacing them. A field that the gateway does not know counts as text of the
// user: it must not be a way around an inspection.
import { applySplices, JsonDocument, type JsonNode, type Splice } from "../base/json-nodes.ts";
import { keptConversationOf } from "./kept-conversation.ts";
import { toolOfItem } from "./nameless-tools.ts";
import {
  OPAQUE_KEYS,
  OTHER_FIELDS,
  ROLES,
  SETTINGS,
  SYSTEM_FIELDS,
  type TextRole,
} from "./request-text-fields.ts";

export interface RequestText {
  readonly role: TextRole;
  readonly kind: "text" | "tool_arguments" | "tool_result" | "document";
  /** The position of the message; -1 outside of messages. */
  readonly message: number;
  /** The name of the tool that was called or returned the text; null if there is none, or if it is not known. */
  readonly tool: string | null;
  readonly text: string;
  /** Whether the text is itself JSON: the arguments of a call in formats that send them as a string. */
  readonly isJson: boolean;
  /** Signed or encrypted reasoning: the provider rejects it if it changes. */
  readonly isReadOnly: boolean;
}

type Place = Omit<RequestText, "text">;

const FIELD: Place = {
  role: "other",
  kind: "text",
  message: -1,
  tool: null,
  isJson: false,
  isReadOnly: false,
};

export class RequestTexts {
  readonly #json: JsonDocument;
  readonly #nodes: readonly JsonNode[];
  /** Those outside of the conversation first, so that the order of the others does not change when the conversation goes on. */
  readonly texts: readonly RequestText[];
  /** The tools of the results that have no text, such as those with only an image; null if a tool is not known. */
  readonly resultsWithoutText: readonly (string | null)[];

  private constructor(json: JsonDocument, reader: Reader) {
    const found = reader.read();
    this.#json = json;
    this.resultsWithoutText = reader.resultsWithoutText;
    this.#nodes = found.map(({ node }) => node);
    this.texts = found.map(({ text }) => text);
  }

  /** Returns null if the body is no JSON. */
  static read(body: Uint8Array): RequestTexts | null {
    const json = JsonDocument.parse(body);
    return json === null ? null : new RequestTexts(json, new Reader(json));
  }

  /** The field by which the request continues a conversation that its provider keeps; null if it does not. */
  get keptConversation(): string | null {
    return keptConversationOf(this.#json);
  }

  /** Returns the body with the texts at these positions replaced; all other bytes stay. */
  replace(replacements: ReadonlyMap<number, string>): Uint8Array {
    const splices: Splice[] = [];
    for (const [index, text] of replacements) {
      const node = this.#nodes[index];
      if (node !== undefined && text !== this.texts[index]?.text)
        splices.push({ start: node.start, end: node.end, bytes: Buffer.from(JSON.stringify(text)) });
    }
    splices.sort((a, b) => a.start - b.start);
    return applySplices(this.#json.bytes, splices);
  }
}

interface Found {
  readonly node: JsonNode;
  readonly text: RequestText;
}

class Reader {
  readonly #json: JsonDocument;
  readonly #fields: Found[] = [];
  readonly #messages: Found[] = [];
  /** The names of called tools by the id of the call. */
  readonly #calls = new Map<string, string>();
  readonly resultsWithoutText: (string | null)[] = [];
  #message = -1;

  constructor(json: JsonDocument) {
    this.#json = json;
  }

  read(): Found[] {
    const { root } = this.#json;
    if (root.type !== "object") this.#readConversation(root);
    for (const [index, child] of root.type === "object" ? root.children.entries() : []) {
      const name = (root.keys[index] ?? "").toLowerCase();
      // A number, such as `max_tokens`, is no message, and must not move the positions of those after it.
      if (SETTINGS.has(name) || child.type === "scalar") continue;
      if (SYSTEM_FIELDS.has(name)) this.#walk(child, { ...FIELD, role: "system" }, true);
      else if (OTHER_FIELDS.has(name)) this.#walk(child, FIELD, true);
      else this.#readConversation(child);
    }
    return [...this.#fields, ...this.#messages];
  }

  #readConversation(node: JsonNode): void {
    for (const message of node.type === "array" ? node.children : [node]) {
      this.#message++;
      if (message.type !== "string" && message.children.length === 0) continue;
      this.#walk(message, { ...FIELD, message: this.#message, role: this.#roleOf(message) }, true);
    }
  }

  /** A message with contradicting roles counts as one of the user. */
  #roleOf(message: JsonNode): TextRole {
    const [first, ...others] = this.#valuesOf(message, "role");
    if (first === undefined) return roleOfItem(this.#firstValueOf(message, TYPE) ?? "");
    const role = roleNamed(first);
    return others.every((other) => roleNamed(other) === role) ? role : "user";
  }

  /** Returns the strings of a key in lower case, whatever its case in the body. Called a dozen times for each object. */
  #valuesOf(node: JsonNode, key: string): readonly string[] {
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

  #firstValueOf(node: JsonNode, keys: readonly string[]): string | undefined {
    for (const key of keys) {
      const [value] = this.#valuesOf(node, key);
      if (value !== undefined) return value;
    }
    return undefined;
  }

  /** `hasOpaque`: keys have the meaning that formats give them. Not so in the values of a tool. */
  #walk(node: JsonNode, place: Place, hasOpaque: boolean): void {
    if (node.type === "string") this.#add(node, place);
    else if (node.type === "array") for (const child of node.children) this.#walk(child, place, hasOpaque);
    else if (node.type === "object") this.#walkObject(node, place, hasOpaque);
  }

  #walkObject(node: JsonNode, place: Place, hasOpaque: boolean): void {
    const here = hasOpaque ? this.#placeOf(node, place) : place;
    if (here.kind !== "tool_result" || place.kind === "tool_result") this.#walkMembers(node, here, hasOpaque);
    else this.#walkResult(here, () => this.#walkMembers(node, here, hasOpaque));
  }

  #walkResult({ tool }: Place, walk: () => void): void {
    const before = this.#messages.length;
    walk();
    if (this.#messages.length === before) this.resultsWithoutText.push(tool);
  }

  #walkMembers(node: JsonNode, here: Place, hasOpaque: boolean): void {
    let index = 0;
    for (const child of node.children) {
      const key = (node.keys[index++] ?? "").toLowerCase();
      if (!hasOpaque) this.#walk(child, here, false);
      else if (isArguments(key, child, here))
        this.#walk(child, { ...here, kind: "tool_arguments", isJson: child.type === "string" }, false);
      else if (key === "functioncall" || key === "function_call")
        this.#walk(
          child,
          { ...here, role: "assistant", tool: this.#valuesOf(child, "name")[0] ?? null },
          true,
        );
      else if (key === "functionresponse" || key === "function_response") {
        const tool = this.#valuesOf(child, "name")[0] ?? null;
        const result: Place = { ...here, role: "tool", kind: "tool_result", tool };
        this.#walkResult(result, () => this.#walk(child, result, true));
      } else if (key === "response" && here.kind === "tool_result") this.#walk(child, here, false);
      else if (RESULTS_OF_CALLS.has(key) && child.type !== "scalar" && this.#isCall(node, here)) {
        const result: Place = { ...here, role: "tool", kind: "tool_result" };
        this.#walkResult(result, () => this.#walk(child, result, true));
      } else if (key === "data" ? this.#isTextData(node) : !OPAQUE_KEYS.has(key))
        this.#walk(child, here, true);
    }
  }

  /** Whether the node is a call of the Responses API. */
  #isCall(node: JsonNode, { role, kind }: Place): boolean {
    return (
      role === "assistant" &&
      kind === "text" &&
      this.#valuesOf(node, "type").some((type) => type.endsWith("_call"))
    );
  }

  /** Whether the `data` of a document is its text, and not base64. */
  #isTextData(node: JsonNode): boolean {
    const types = ["type", "media_type", "mimetype", "mime_type"].flatMap((key) => this.#valuesOf(node, key));
    return types.includes("text") || types.some((type) => type.startsWith("text/"));
  }

  #placeOf(node: JsonNode, place: Place): Place {
    if (place.role === "other" || place.message < 0) return place;
    const [type = ""] = this.#valuesOf(node, "type");
    const [name = toolOfItem(type)] = this.#valuesOf(node, "name");
    const id = this.#firstValueOf(node, type.endsWith("_call") ? CALL_IDS : IDS);
    if (name !== null && id !== undefined) this.#calls.set(id, name);
    const called = node.get("function") ?? node.get("custom");
    const calledName = called === null ? null : (this.#valuesOf(called, "name")[0] ?? null);
    if (calledName !== null && id !== undefined) this.#calls.set(id, calledName);
    if (type === "tool_use" || type.endsWith("_call") || type === "server_tool_use")
      return { ...place, role: "assistant", tool: name };
    if (calledName !== null || place.kind === "tool_arguments")
      return { ...place, tool: calledName ?? place.tool };
    return this.#placeOfContent(node, place, type, name);
  }

  #placeOfContent(node: JsonNode, place: Place, type: string, name: string | null): Place {
    const resultOf = this.#firstValueOf(node, RESULT_IDS);
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
    return SIGNATURES.some((key) => this.#valuesOf(node, key).some((value) => value !== ""));
  }

  #add(node: JsonNode, place: Place): void {
    const text = this.#json.text(node);
    if (text === null || text === "") return;
    (place.message < 0 ? this.#fields : this.#messages).push({ node, text: { ...place, text } });
  }
}

const NO_VALUES: readonly string[] = [];
const TYPE = ["type"];
const IDS = ["id"];
const CALL_IDS = ["call_id", "id"];
const RESULT_IDS = ["tool_call_id", "tool_use_id", "call_id"];
const SIGNATURES = ["signature", "encrypted_content", "thoughtsignature", "thought_signature"];
/** Calls that the provider has run contain what the tool returned, such as `mcp_call`, `file_search_call` and `code_interpreter_call`. */
const RESULTS_OF_CALLS = new Set(["output", "outputs", "results", "error"]);
const DOCUMENT_TYPES = new Set(["document", "input_file", "file", "search_result"]);

/** Gemini wraps calls and results in objects without a type. */
function isArguments(key: string, child: JsonNode, { role, kind }: Place): boolean {
  if (role !== "assistant" || kind !== "text") return false;
  return key === "arguments" || key === "args" || (key === "input" && child.type !== "array");
}

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
