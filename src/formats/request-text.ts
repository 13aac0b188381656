// What is found in a request: its texts, and the strings that are no texts.
import type { JsonNode } from "../base/json-nodes.ts";
import type { TextRole } from "./request-text-fields.ts";

export interface RequestText {
  readonly role: TextRole;
  readonly kind: "text" | "tool_arguments" | "tool_result" | "document";
  /** The position of the message; -1 outside of messages. */
  readonly message: number;
  /** The name of the tool that was called or returned the text; null if there is none, or if it is not known. */
  readonly tool: string | null;
  /** The key of the text in lower case, or of the list that has it; empty if there is none. */
  readonly field: string;
  readonly text: string;
  /** Whether the text may itself be JSON: the arguments of a call in formats that send them as a string, and files that start as JSON does. */
  readonly isJson: boolean;
  /** Whether it is the text of a file in base64, or of a data URL. */
  readonly isFile: boolean;
  /** Signed or encrypted reasoning: the provider rejects it if it changes. */
  readonly isReadOnly: boolean;
}

/**
 * A string that a request needs as it is: an id, the name of a tool, a URL, a level, or the name of a field. Equal ones are listed
 * once.
 */
export interface RequestIdentifier {
  readonly kind: "identifier" | "url" | "key";
  /** The key of the string in lower case; empty for the name of a field. */
  readonly field: string;
  readonly text: string;
}

/** A part of a result: a text, or a JSON value as it is written. */
export interface ResultBlock {
  /** The source of a JSON value, else the text. */
  readonly text: string;
  readonly isJson: boolean;
}

/** The result of a tool that a request contains. */
export interface ToolResult {
  /** The names of the tool: none if it is not known, more than one if the request contradicts itself. */
  readonly tools: ReadonlySet<string>;
  /** In their order. */
  readonly blocks: readonly ResultBlock[];
}

/** A block, and how a text in its place is written; null: as a string. `current`: the string of the node. */
export interface FoundBlock extends ResultBlock {
  readonly node: JsonNode;
  readonly encode: ((text: string, current: string) => unknown) | null;
}

/**
 * A text, and how a changed one is written; null: as it is. A data URL among texts is found twice: as it is, and then
 * as its file. `current`: the string of the node, which may have changed as a text.
 */
export interface Found {
  readonly node: JsonNode;
  readonly text: RequestText;
  readonly encode: ((text: string, current: string) => string) | null;
}

export type Place = Omit<RequestText, "text" | "field">;

/** `api`: keys have the meaning that formats give them. `free`: they have none, as in the arguments of a tool. `setting`: no string is a text. */
export type Mode = "api" | "free" | "setting";

/** Where a value is: the key in lower case, and the object that has it. */
export interface Member {
  readonly key: string;
  readonly parent: JsonNode;
}
