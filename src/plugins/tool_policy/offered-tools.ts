// The tools that a request offers: decides about each one, and writes the request without those that are stripped.
import type { JsonDocument, JsonNode } from "../../sdk/index.ts";
import { hostedShape, membersOf, namedNodesOf, offeredShape } from "./offered-shape.ts";
import { SEVERITY, type Action, type Policy } from "./policy.ts";

// Keys are compared in lower case: some servers ignore case.
const LISTS = new Set(["tools", "functions"]);
/** Fields with the conversation, whose items may offer tools. */
const CONVERSATIONS = new Set(["input", "messages"]);
/** Lists of functions within the list of tools, of Gemini. */
const INNER_LISTS = new Set(["functiondeclarations", "function_declarations"]);
/** Top-level fields that offer hosted tools or the tools of servers. Such a tool is named like the field. */
const HOSTED_FIELDS = new Set(["web_search_options", "search_parameters", "plugins", "mcp_servers"]);
/** Fields that providers reject in a request without tools. */
const FIELDS_OF_TOOLS = new Set([
  "tool_choice",
  "parallel_tool_calls",
  "function_call",
  "toolConfig",
  "tool_config",
]);
/** Fields with the tool that the model must call, or with those that it may call. */
const CHOICES = new Set(["tool_choice", "function_call", "toolconfig", "tool_config"]);
/** Objects within these that lead to the list of tools that the model may call, and the list. */
const CHOICE_OBJECTS = new Set(["allowed_tools", "functioncallingconfig", "function_calling_config"]);
const CHOICE_LISTS = new Set(["tools", "allowedfunctionnames", "allowed_function_names"]);

export class OfferedTools {
  readonly #json: JsonDocument;
  readonly #policy: Policy;
  readonly #stripped = new Set<JsonNode>();
  /** The lists and tools that contain something stripped. */
  readonly #changed = new Set<JsonNode>();
  /** Lists that stay where nothing is left of them. */
  readonly #kept = new Set<JsonNode>();
  #hasTools = false;
  readonly removed = new Set<string>();
  denied: string | null = null;

  constructor(json: JsonDocument, policy: Policy) {
    this.#json = json;
    this.#policy = policy;
  }

  read(): void {
    for (const [key, child] of membersOf(this.#json.root)) {
      if (LISTS.has(key)) this.#readList(child);
      else if (CONVERSATIONS.has(key)) this.#readConversation(child);
      else if (HOSTED_FIELDS.has(key) && this.#json.source(child) !== "null")
        this.#decide([key], child, (name) => hostedShape(this.#json, name, child));
    }
    if (this.removed.size === 0) return;
    for (const [key, child] of membersOf(this.#json.root)) if (CHOICES.has(key)) this.#readChoice(child);
  }

  /** Returns the body without the stripped tools; without their lists where nothing is left. */
  encode(): Uint8Array {
    const { root } = this.#json;
    this.#changed.add(root);
    return this.#encode(root, (key) => !this.#hasTools && FIELDS_OF_TOOLS.has(key)) ?? Buffer.from("{}");
  }

  /** Items of a conversation offer tools to the calls after them, such as those that a search for tools has found. */
  #readConversation(conversation: JsonNode): void {
    for (const item of conversation.type === "array" ? conversation.children : [conversation])
      for (const [key, child] of membersOf(item)) {
        if (key !== "tools") continue;
        // An item without its list is no valid one.
        this.#kept.add(child);
        if (!this.#readList(child)) continue;
        this.#changed.add(item);
        this.#changed.add(conversation);
      }
  }

  /** Returns whether something in the list is stripped. Gemini also reads a tool that is not in a list. */
  #readList(list: JsonNode): boolean {
    let isChanged = false;
    for (const tool of list.type === "array" ? list.children : [list])
      if (tool.type === "object" && this.#readTool(tool)) isChanged = true;
    if (isChanged) this.#changed.add(list);
    return isChanged;
  }

  /** Denies a request that forces a stripped tool. Returns whether the choice contains something stripped. */
  #readChoice(choice: JsonNode): boolean {
    // A text is no name but a mode, such as "auto".
    const names = choice.type === "object" ? this.#chosenNames(choice) : [];
    const forced = names.find((name) => this.removed.has(name));
    if (forced !== undefined) this.denied ??= forced;
    let isChanged = false;
    for (const [key, child] of membersOf(choice)) {
      if (CHOICE_LISTS.has(key)) isChanged = this.#readAllowed(child) || isChanged;
      else if (CHOICE_OBJECTS.has(key)) isChanged = this.#readChoice(child) || isChanged;
    }
    if (isChanged) this.#changed.add(choice);
    return isChanged;
  }

  /** Providers reject a list with a tool that is not offered. Denies the request if nothing would be left of the list. */
  #readAllowed(list: JsonNode): boolean {
    const stripped = list.children.filter((tool) =>
      this.#chosenNames(tool).some((name) => this.removed.has(name)),
    );
    const [first] = stripped;
    if (first === undefined) return false;
    if (stripped.length === list.children.length) this.denied ??= this.#chosenNames(first)[0] ?? "";
    for (const tool of stripped) this.#stripped.add(tool);
    this.#changed.add(list);
    return true;
  }

  /** A hosted tool is chosen by its type, also if one of its functions is named. */
  #chosenNames(chosen: JsonNode): string[] {
    const name = this.#json.text(chosen);
    return name === null ? [...this.#namesOf(chosen), ...this.#textsOf(chosen, "type")] : [name];
  }

  /** Returns whether the tool, or a tool in it, is stripped. */
  #readTool(tool: JsonNode): boolean {
    const names = this.#namesOf(tool);
    if (names.length > 0 && this.#decide(names, tool, offeredShape(this.#json, tool))) return true;
    const isNamespace = this.#textsOf(tool, "type").includes("namespace");
    let isChanged = false;
    for (const [index, [key, child]] of membersOf(tool).entries()) {
      if (INNER_LISTS.has(key) || (isNamespace && key === "tools"))
        isChanged = this.#readList(child) || isChanged;
      // Each field of a tool of Gemini is a tool.
      else if (names.length === 0) isChanged = this.#decideField(tool.keys[index] ?? "", child) || isChanged;
    }
    if (isChanged) this.#changed.add(tool);
    return isChanged;
  }

  /** Returns whether the tool is stripped. With several names, of which servers may read any, the strictest decision counts. */
  #decide(names: readonly string[], tool: JsonNode, shapeOf: (name: string) => unknown): boolean {
    let [strictest, named]: [Action, string] = ["allow", ""];
    for (const name of names) {
      const action = this.#policy.decide("offered", name, shapeOf(name)) ?? "allow";
      if (SEVERITY[action] > SEVERITY[strictest]) [strictest, named] = [action, name];
    }
    if (strictest === "deny") this.denied ??= named;
    if (strictest !== "strip") {
      this.#hasTools = true;
      return false;
    }
    for (const name of names) this.removed.add(name);
    this.#stripped.add(tool);
    return true;
  }

  /** Hosted tools have no name but a type, and in Gemini's format a key: then there is none. */
  #namesOf(tool: JsonNode): string[] {
    const names = namedNodesOf(tool).flatMap((node) => this.#textsOf(node, "name"));
    return [...new Set(names.length > 0 ? names : this.#textsOf(tool, "type"))];
  }

  #textsOf(node: JsonNode, name: string): string[] {
    return membersOf(node).flatMap(([key, child]) => (key === name ? (this.#json.text(child) ?? []) : []));
  }

  #decideField(key: string, child: JsonNode): boolean {
    return this.#decide([key], child, (name) => hostedShape(this.#json, name, child));
  }

  /** Returns null if nothing is left. */
  #encode(node: JsonNode, isDropped: (key: string) => boolean = () => false): Uint8Array | null {
    if (this.#stripped.has(node)) return null;
    const { bytes } = this.#json;
    if (!this.#changed.has(node)) return bytes.subarray(node.start, node.end);
    const parts: Uint8Array[] = [];
    for (const [index, child] of node.children.entries()) {
      const value = isDropped(node.keys[index] ?? "") ? null : this.#encode(child);
      if (value === null) continue;
      const start = node.keyStarts[index] ?? child.start;
      parts.push(Buffer.concat([bytes.subarray(start, child.start), value]));
    }
    if (parts.length === 0 && !this.#kept.has(node)) return null;
    return node.type === "array" ? bracketed("[", parts, "]") : bracketed("{", parts, "}");
  }
}

function bracketed(open: string, parts: readonly Uint8Array[], close: string): Uint8Array {
  const separated = parts.flatMap((part, index) => (index === 0 ? [part] : [Buffer.from(","), part]));
  return Buffer.concat([Buffer.from(open), ...separated, Buffer.from(close)]);
}
