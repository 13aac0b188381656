// Finds the texts of a request by role, in every format, and the strings that are no texts: ids, URLs, files, and names of fields. A field that
// the gateway does not know counts as text of the user: it must not be a way around an inspection.
import { foldCase } from "../base/fold-case.ts";
import { JsonNode, type JsonDocument } from "../base/json-nodes.ts";
import { percentDecodedLeniently } from "../base/percent-decoded.ts";
import { TOOL_PARTS, type ToolPart } from "./gemini/tool-parts.ts";
import { IdentifierList } from "./identifier-list.ts";
import { readBase64, readDataUrl, type InlineFile } from "./inline-files.ts";
import type { Found, Member, Mode, Place, RequestIdentifier } from "./request-text.ts";
import {
  DATA_KEYS,
  FILE_KEYS,
  FREE_KEYS,
  IDENTIFIER,
  IDENTIFIER_KEYS,
  OTHER_FIELDS,
  SEALED_KEYS,
  SETTINGS,
  SYSTEM_FIELDS,
  URL_KEYS,
  URL_START,
} from "./request-text-fields.ts";
import { contentOfResponse, ResultCollector, type FoundResult } from "./result-collector.ts";
import { rpcIdentifiersOf } from "./rpc-identifiers.ts";
import { isArguments, roleOfOutput, TextPlaces } from "./text-places.ts";

const FIELD: Place = {
  role: "other",
  kind: "text",
  message: -1,
  tool: null,
  isJson: false,
  isFile: false,
  isReadOnly: false,
};

export class RequestTextReader {
  readonly #json: JsonDocument;
  readonly #texts: Found[] = [];
  readonly #messages: Found[] = [];
  readonly #places: TextPlaces;
  readonly #identifiers = new IdentifierList();
  readonly #results = new ResultCollector();
  readonly #rpcIdentifiers: ReadonlySet<JsonNode>;
  /** Null if all texts can be inspected. */
  unreadable: string | null = null;
  #message = -1;

  constructor(json: JsonDocument) {
    this.#json = json;
    this.#places = new TextPlaces(json);
    this.#rpcIdentifiers = rpcIdentifiersOf(json);
  }

  get identifiers(): readonly RequestIdentifier[] {
    return this.#identifiers.list;
  }

  get results(): readonly FoundResult[] {
    return this.#results.list;
  }

  /** What in the body contradicts itself so often that it is not read; null if there is nothing. */
  get ambiguous(): string | null {
    return this.#places.ambiguous;
  }

  read(): Found[] {
    const { root } = this.#json;
    if (this.#places.isAmbiguous(root)) return [];
    if (root.type !== "object") this.#readConversation(root, "api", NO_MEMBER);
    else this.#identifiers.addKeys(root.keys);
    for (const [index, child] of root.type === "object" ? root.children.entries() : []) {
      const name = foldCase(root.keys[index] ?? "");
      // A number, such as `max_tokens`, is no message, and must not move the positions of those after it.
      if (child.type === "scalar") continue;
      const mode = FREE_KEYS.has(name) ? "free" : "api";
      const member: Member = { key: name, parent: root };
      if (SETTINGS.has(name)) this.#walk(child, FIELD, "setting", member);
      else if (SYSTEM_FIELDS.has(name)) this.#walk(child, { ...FIELD, role: "system" }, "api", member);
      else if (OTHER_FIELDS.has(name)) this.#walk(child, FIELD, mode, member);
      else this.#readConversation(child, mode, member);
    }
    return [...this.#texts, ...this.#messages];
  }

  #readConversation(node: JsonNode, mode: Mode, member: Member): void {
    for (const message of node.type === "array" ? node.children : [node]) {
      this.#message++;
      if (message.type !== "string" && message.children.length === 0) continue;
      const place: Place = { ...FIELD, message: this.#message, role: this.#places.roleOf(message) };
      this.#walk(message, place, mode, member);
    }
  }

  #walk(node: JsonNode, place: Place, mode: Mode, member: Member): void {
    if (node.type === "string") this.#addString(node, place, mode, member);
    else if (node.type === "array") for (const child of node.children) this.#walk(child, place, mode, member);
    else if (node.type === "object") this.#walkObject(node, place, mode, member.key);
  }

  #walkObject(node: JsonNode, place: Place, mode: Mode, list: string): void {
    if (mode === "api" && this.#places.isAmbiguous(node)) return;
    this.#identifiers.addKeys(node.keys);
    const here = mode === "api" ? this.#places.placeOf(node, place) : place;
    const signed = mode === "api" ? this.#places.signedMembersOf(node, here, list) : null;
    const walk = () => this.#walkMembers(node, here, mode, signed);
    if (mode !== "api" || here.kind !== "tool_result") walk();
    else this.#results.within(this.#toolsOf(node, here, place), walk);
  }

  /** The name of the node is that of the tool only if the node is the result, and not a part of it. */
  #toolsOf(node: JsonNode, here: Place, place: Place): Set<string> {
    const tools = this.#places.toolsOf(node);
    if (place.kind === "tool_result") return tools;
    for (const name of this.#places.valuesOf(node, "name")) tools.add(name);
    return here.tool === null ? tools : tools.add(here.tool);
  }

  #walkMembers(node: JsonNode, here: Place, mode: Mode, signed: ReadonlySet<string> | null): void {
    let index = 0;
    for (const child of node.children) {
      const member = { key: foldCase(node.keys[index++] ?? ""), parent: node };
      const { key } = member;
      if (signed?.has(key) === true) this.#walkMember(child, { ...here, isReadOnly: true }, member);
      else if (mode === "api") this.#walkMember(child, here, member);
      else this.#walk(child, here, FREE_KEYS.has(key) ? "free" : mode, member);
    }
  }

  #walkMember(child: JsonNode, here: Place, member: Member): void {
    const { key, parent } = member;
    const part = TOOL_PARTS.get(key);
    if (isArguments(key, child, here)) this.#walkArguments(child, here, member);
    else if (FREE_KEYS.has(key) || (key === "content" && this.#isFormContent(parent, child)))
      this.#walk(child, here, "free", member);
    else if (part !== undefined) this.#walkToolPart(child, here, member, part);
    else if (RESULTS_OF_CALLS.has(key) && child.type !== "scalar" && this.#places.isCall(parent, here)) {
      const role = roleOfOutput(here);
      const walk = () => this.#walk(child, { ...here, role, kind: "tool_result" }, "api", member);
      this.#results.within(new Set(here.tool === null ? [] : [here.tool]), walk);
    } else if (here.kind === "tool_result" && RESULT_MEMBERS.has(key) && this.#isUntyped(child))
      this.#walkJsonResult(child, here, member);
    else this.#walk(child, here, "api", member);
  }

  #walkJsonResult(node: JsonNode, here: Place, member: Member): void {
    const walk = () => this.#walk(node, here, "api", member);
    // What is within a block is a part of its text.
    if (this.#results.isInBlock) walk();
    else this.#results.add({ node, encode: null, text: this.#json.source(node), isJson: true }, walk);
  }

  #isUntyped(node: JsonNode): boolean {
    return node.type === "object" && this.#places.valuesOf(node, "type").length === 0;
  }

  #walkToolPart(node: JsonNode, here: Place, member: Member, part: ToolPart): void {
    const names = this.#places.toolsOfPart(node, part);
    const place = { ...here, tool: names[0] ?? null };
    if (part.isResult) this.#walkResultPart(node, place, member, part, names);
    else if (part.content === null && here.kind === "text") this.#walkArguments(node, place, member);
    else this.#walk(node, place, "api", member);
  }

  #walkResultPart(
    node: JsonNode,
    here: Place,
    member: Member,
    { isHosted, content }: ToolPart,
    names: readonly string[],
  ): void {
    if (this.#places.isAmbiguous(node)) return;
    const place: Place = { ...here, role: isHosted ? roleOfOutput(here) : "tool", kind: "tool_result" };
    this.#identifiers.addKeys(node.keys);
    this.#results.within(new Set([...names, ...this.#places.toolsOf(node)]), () => {
      if (node.type !== "object") this.#walk(node, place, "free", member);
      for (const [index, key] of node.keys.entries()) {
        const [child, inner] = [node.children[index] ?? node, { key: foldCase(key), parent: node }];
        if (inner.key === content && child.type !== "string") this.#walkResponse(child, place, inner, names);
        else this.#walk(child, place, inner.key === content ? "free" : "api", inner);
      }
    });
  }

  #walkResponse(node: JsonNode, place: Place, member: Member, names: readonly string[]): void {
    const content = contentOfResponse(node, (name) => names.includes(this.#json.text(name) ?? ""));
    const text = this.#json.text(content);
    // A response must be an object.
    const encode = content === node ? (changed: string) => ({ output: changed }) : null;
    const block = { node: content, encode, text: text ?? this.#json.source(content), isJson: text === null };
    this.#results.add(block, () => this.#walk(node, place, "free", member));
  }

  /** The arguments of a call by an assistant in a conversation, or by a client of an MCP server. */
  #walkArguments(child: JsonNode, here: Place, member: Member): void {
    const isOfMessage = here.role !== "other" && here.message >= 0;
    const tool = here.tool ?? this.#places.valuesOf(member.parent, "name")[0] ?? null;
    const place: Place = isOfMessage
      ? { ...here, kind: "tool_arguments", tool, isJson: child.type === "string" }
      : here;
    this.#walk(child, place, "free", member);
  }

  /** Whether this is what a user has filled into a form of an MCP server (elicitation). */
  #isFormContent(node: JsonNode, content: JsonNode): boolean {
    return content.type === "object" && this.#places.valuesOf(node, "action").length > 0;
  }

  #addString(node: JsonNode, place: Place, mode: Mode, { key, parent }: Member): void {
    const text = this.#json.text(node);
    if (text === null) this.unreadable ??= "a string with an invalid escape sequence";
    if (text === null || text === "") return;
    const isFile = mode === "api" && this.#isFileField(key, parent);
    const dataUrl = readDataUrl(text, isFile);
    const header = dataUrl?.header ?? null;
    if (header !== null) this.#identifiers.add("url", key, percentDecodedLeniently(header));
    else this.#addPlain(node, place, mode, { key, parent }, text);
    if (dataUrl !== null) this.#addFile(node, place, key, text, dataUrl.file);
  }

  /** Whether the API has a file there, so that a data URL is no text. */
  #isFileField(key: string, parent: JsonNode): boolean {
    return URL_KEYS.has(key) || FILE_KEYS.has(key) || (DATA_KEYS.has(key) && !this.#isPlain(parent));
  }

  #addPlain(node: JsonNode, place: Place, mode: Mode, { key, parent }: Member, text: string): void {
    if (mode === "free") this.#addText(node, place, key, text);
    else if (mode === "setting" || IDENTIFIER_KEYS.has(key) || this.#rpcIdentifiers.has(node)) {
      if (IDENTIFIER.test(text)) this.#identifiers.add("identifier", key, text);
      else this.#addText(node, place, key, text);
    } else if (URL_KEYS.has(key) && URL_START.test(text)) this.#identifiers.add("url", key, text);
    else if (SEALED_KEYS.has(key) || (DATA_KEYS.has(key) && !this.#isPlain(parent)))
      this.#addData(node, place, key, parent, text);
    else this.#addText(node, place, key, text);
  }

  /** Whether the `data` of a document is its text, and not base64. */
  #isPlain(node: JsonNode): boolean {
    const types = this.#places.valuesOf(node, "type");
    return types.length > 0 && types.every((type) => type === "text");
  }

  #addData(node: JsonNode, place: Place, key: string, parent: JsonNode, text: string): void {
    const file = readBase64(text, this.#places.mediaTypeOf(parent));
    const isSealed = SEALED_KEYS.has(key);
    // An object with two types.
    const isText = !isSealed && this.#places.valuesOf(parent, "type").includes("text");
    if (file === null || isText) this.#addText(node, place, key, text);
    if (file === null) return;
    // A short key or number may be a text by chance.
    if (text.length <= MAX_SHORT) this.#identifiers.add("identifier", key, text);
    if (isSealed && typeof file !== "string") this.#identifiers.add("identifier", key, file.text ?? text);
    else this.#addFile(node, place, key, text, isSealed ? "media" : file);
  }

  #addFile(node: JsonNode, place: Place, key: string, source: string, file: InlineFile): void {
    // A short one may be a key or a number instead of media.
    if (file === "binary" || (file === "media" && source.length <= MAX_SHORT))
      this.#identifiers.add("identifier", key, source);
    if (typeof file === "string") return;
    const { text, encode } = file;
    if (text === null) this.unreadable ??= `a file in "${key}" with text that cannot be read`;
    else if (text !== "") {
      const kind = place.kind === "text" ? "document" : place.kind;
      const document = { ...place, kind, isJson: JSON_START.test(text), isFile: true, isReadOnly: false };
      this.#push({ node, text: { ...document, field: key, text }, encode });
    }
  }

  #addText(node: JsonNode, place: Place, field: string, text: string): void {
    this.#push({ node, text: { ...place, field, text }, encode: null });
  }

  #push(found: Found): void {
    const { node, encode } = found;
    this.#results.addText({ node, encode, text: found.text.text, isJson: false });
    (found.text.message < 0 ? this.#texts : this.#messages).push(found);
  }
}

const NO_MEMBER: Member = { key: "", parent: new JsonNode("object", 0) };
/** Calls that the provider has run contain what the tool returned, such as `mcp_call`, `file_search_call` and `code_interpreter_call`. */
const RESULTS_OF_CALLS = new Set(["output", "outputs", "results", "error"]);
/** The members in which results of tools are. */
const RESULT_MEMBERS = new Set(["content", "output"]);
const JSON_START = /^[\ufeff\s]*[{[]/;
/** Media is longer. */
const MAX_SHORT = 512;
