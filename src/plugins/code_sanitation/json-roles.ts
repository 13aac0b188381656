// Assigns a role to every string of a request body: the role of the message that it belongs to. Reads the structure of
// the JSON text and skips everything else, so that a body is not parsed. Covers the formats of OpenAI (chat completions,
// responses), Anthropic and Gemini.
import { roleOfType } from "../../sdk/index.ts";
import { CLOSE_BRACE, DOUBLE_QUOTE, OPEN_BRACE, OPEN_BRACKET } from "./char-codes.ts";
import { decodeString, stringEnd } from "./json-string.ts";
import type { TextRange } from "./json-string-cursor.ts";
import { forEachElement, forEachMember, skipSpace, valueEnd } from "./json-structure.ts";
import { ROLES, type Role } from "./settings.ts";

/** A set of roles: bit i is the role ROLES[i]. */
export type RoleSet = number;

export function roleSetOf(roles: readonly Role[]): RoleSet {
  return roles.reduce((set, role) => set | (1 << ROLES.indexOf(role)), 0);
}

const USER = roleSetOf(["user"]);
const ASSISTANT = roleSetOf(["assistant"]);
const TOOL = roleSetOf(["tool"]);

/** A message, or what counts as one. It has several roles only if the client contradicts itself, for example with two `role` keys. */
interface Message {
  roles: RoleSet;
}

interface OpenMessage extends Message {
  /** Up to here, its text is in a range. */
  added: number;
}

/** Part of the text whose strings all belong to the same message. */
interface MessageRange {
  readonly start: number;
  end: number;
  readonly message: Readonly<Message>;
}

const AS_SYSTEM: Message = { roles: roleSetOf(["system"]) };
const AS_USER: Message = { roles: USER };
const AS_TOOL: Message = { roles: TOOL };
const AS_OTHER: Message = { roles: roleSetOf(["other"]) };

/**
 * Fields of a body that are not part of the conversation. The fields of a conversation differ between providers, so all that are
 * not listed here count as `user`: a field that the gateway does not know must not be a way around the inspection.
 */
const OTHER_FIELDS: ReadonlySet<string> = new Set([
  "model",
  "models",
  "metadata",
  "user",
  "tools",
  "tool_choice",
  "functions",
  "function_call",
  "response_format",
  "stop",
  "stop_sequences",
  "service_tier",
  "safety_identifier",
  "prompt_cache_key",
  "previous_response_id",
  "mcp_servers",
  "include",
  "toolConfig",
  "tool_config",
  "generationConfig",
  "generation_config",
  "safetySettings",
  "safety_settings",
  "cachedContent",
  "cached_content",
  "labels",
]);

/** Members of Gemini's parts that hold what a tool returned, in lower case without "_". */
const RESULT_MEMBERS: ReadonlySet<string> = new Set([
  "functionresponse",
  "codeexecutionresult",
  "toolresponse",
]);

/** Values of `role`. Any other value counts as `user`. */
const ROLE_NAMES: ReadonlyMap<string, RoleSet> = new Map([
  ...ROLES.filter((role) => role !== "other").map((role) => [role, roleSetOf([role])] as const),
  // Earlier name of `tool`.
  ["function", TOOL],
  // Of Gemini.
  ["model", ASSISTANT],
]);

/** How the type of a content block ends that holds the result of a tool: `tool_result`, `mcp_tool_result`. */
const TOOL_RESULT = "tool_result";

/** Longer keys and role names, which may be escaped, are unknown ones. */
const MAX_NAME_LENGTH = 256;

/** Returns the ranges of the text whose strings have one of the roles. */
export function rangesOfRoles(text: string, roles: RoleSet): TextRange[] {
  return messageRangesOf(text).filter(({ message }) => (message.roles & roles) !== 0);
}

/** Returns the role of the string at this position; if it has several, one of `inspected`. */
export function roleAt(text: string, at: number, inspected: RoleSet): Role | null {
  const range = messageRangesOf(text).find(({ start, end }) => start <= at && at < end);
  const roles = range?.message.roles ?? 0;
  const preferred = (roles & inspected) === 0 ? roles : roles & inspected;
  return ROLES.find((_, index) => (preferred & (1 << index)) !== 0) ?? null;
}

/** Returns ranges that together contain all strings of the text but the keys with a known name, in order. */
function messageRangesOf(text: string): MessageRange[] {
  const start = skipSpace(text, 0);
  if (text.charCodeAt(start) !== OPEN_BRACE) return [{ start: 0, end: text.length, message: AS_USER }];
  return new MessageReader(text).read(start);
}

class MessageReader {
  readonly #text: string;
  readonly #ranges: MessageRange[] = [];

  constructor(text: string) {
    this.#text = text;
  }

  read(start: number): MessageRange[] {
    forEachMember(this.#text, start, (key, value) => {
      const name = this.#stringAt(key);
      // Some providers ignore the case of field names.
      switch (name.toLowerCase()) {
        case "messages":
        case "contents":
          return this.#readMessages(value, USER);
        case "input":
          return this.#readMessages(value, 0);
        case "system":
        case "instructions":
        case "systeminstruction":
        case "system_instruction":
          return this.#add(key, valueEnd(this.#text, value), AS_SYSTEM);
        default:
          return this.#add(key, valueEnd(this.#text, value), OTHER_FIELDS.has(name) ? AS_OTHER : AS_USER);
      }
    });
    return this.#ranges;
  }

  #add(start: number, end: number, message: Readonly<Message>): number {
    const last = this.#ranges.at(-1);
    if (last?.message === message) last.end = end;
    else this.#ranges.push({ start, end, message });
    return end;
  }

  /** `withoutRole`: the roles of a message without a `role`, in addition to those of its type. */
  #readMessages(start: number, withoutRole: RoleSet): number {
    if (this.#text.charCodeAt(start) !== OPEN_BRACKET) return this.#readMessage(start, withoutRole);
    return forEachElement(this.#text, start, (element) => this.#readMessage(element, withoutRole));
  }

  #readMessage(start: number, withoutRole: RoleSet): number {
    if (this.#text.charCodeAt(start) !== OPEN_BRACE)
      return this.#add(start, valueEnd(this.#text, start), AS_USER);
    // An empty message has no strings. A body may have very many of them.
    if (this.#text.charCodeAt(start + 1) === CLOSE_BRACE) return start + 2;
    const message: OpenMessage = { roles: 0, added: start };
    let hasRole = false;
    const end = forEachMember(this.#text, start, (key, value) => {
      switch (this.#stringAt(key).toLowerCase()) {
        case "role":
          hasRole = true;
          message.roles |= ROLE_NAMES.get(this.#stringAt(value).toLowerCase()) ?? USER;
          break;
        case "type":
          message.roles |= rolesOfItemType(this.#stringAt(value));
          break;
        case "content":
          if (this.#text.charCodeAt(value) !== OPEN_BRACKET) break;
          return forEachElement(this.#text, value, (block) => {
            const blockEnd = valueEnd(this.#text, block);
            return this.#isToolResult(block, message) ? this.#addResult(message, block, blockEnd) : blockEnd;
          });
        case "parts":
          if (this.#text.charCodeAt(value) !== OPEN_BRACKET) return this.#readPart(value, message);
          return forEachElement(this.#text, value, (part) => this.#readPart(part, message));
      }
      return valueEnd(this.#text, value);
    });
    if (!hasRole) message.roles |= withoutRole;
    if (message.roles === 0) message.roles = USER;
    return this.#add(message.added, end, message);
  }

  /** The rest of the message has another role than the result of a tool in it. */
  #addResult(message: OpenMessage, start: number, end: number): number {
    this.#add(message.added, start, message);
    message.added = end;
    return this.#add(start, end, AS_TOOL);
  }

  /** Reads one of Gemini's parts, which have members for what a tool returned. */
  #readPart(part: number, message: OpenMessage): number {
    if (this.#text.charCodeAt(part) !== OPEN_BRACE) return valueEnd(this.#text, part);
    return forEachMember(this.#text, part, (key, value) => {
      const end = valueEnd(this.#text, value);
      const name = this.#stringAt(key).toLowerCase().replaceAll("_", "");
      return RESULT_MEMBERS.has(name) ? this.#addResult(message, key, end) : end;
    });
  }

  /** Whether a block is the result of a tool. If it also has another type, or one that is not known, the whole message counts as `tool` too. */
  #isToolResult(block: number, message: Message): boolean {
    if (this.#text.charCodeAt(block) !== OPEN_BRACE) return false;
    let types = 0;
    let results = 0;
    forEachMember(this.#text, block, (key, value) => {
      if (this.#stringAt(key).toLowerCase() === "type") {
        types++;
        const type = this.#stringAt(value);
        if (roleOfType(type) === "tool") results++;
        else if (type.endsWith(TOOL_RESULT)) message.roles |= TOOL;
      }
      return valueEnd(this.#text, value);
    });
    if (results > 0 && results < types) message.roles |= TOOL;
    return results > 0 && results === types;
  }

  /** Returns the string at this position; an empty text if there is none, or a long one. */
  #stringAt(at: number): string {
    if (this.#text.charCodeAt(at) !== DOUBLE_QUOTE) return "";
    const token = { start: at + 1, end: stringEnd(this.#text, at + 1) };
    return token.end - token.start > MAX_NAME_LENGTH ? "" : decodeString(this.#text, token);
  }
}

/** The roles of an item of the Responses API by its type. A server may ignore a type that is not known: such a text may also be the user's. */
function rolesOfItemType(type: string): RoleSet {
  const role = roleOfType(type);
  if (role !== null) return roleSetOf([role]);
  if (type.endsWith("_output") || type.endsWith(TOOL_RESULT)) return TOOL | USER;
  return type.endsWith("_call") ? ASSISTANT | USER : 0;
}
