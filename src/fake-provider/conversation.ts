// The content of chat replies, independent of the wire format: a normalized request and a deterministic reply.
import type { Behavior } from "./behavior.ts";
import { isObject, listOf, objectOf, stringOf } from "./loose-json.ts";

export interface Tool {
  name: string;
  schema: unknown;
}

export interface ChatRequest {
  model: string;
  stream: boolean;
  lastUserText: string;
  /** The text of the tool results at the end of the conversation; null if it does not end with tool results. */
  toolResult: string | null;
  tools: Tool[];
  /** "auto" calls a tool if the user's text contains the word "tool"; a name forces that tool. */
  toolChoice: "auto" | "none" | "required" | { name: string };
  inputWords: number;
}

interface ToolCall {
  name: string;
  arguments: Record<string, unknown>;
}

export interface ChatReply {
  model: string;
  /** The text, split into the pieces that a stream sends. May be generated lazily and be huge: iterate it only once. */
  pieces: Iterable<string>;
  calls: ToolCall[];
  inputTokens: number;
  outputTokens: number;
}

export function composeReply(chat: ChatRequest, behavior: Behavior, providerName: string): ChatReply {
  const calls = chooseToolCalls(chat, behavior);
  const text = calls.length > 0 ? "" : (behavior.text ?? greeting(chat, providerName));
  const big = chat.stream ? behavior.bigStream : undefined;
  const words = fitCount(splitWords(text), behavior.chunks);
  const outputWords = words.length + countWords(JSON.stringify(calls.map((call) => call.arguments)));
  return {
    model: behavior.model ?? chat.model,
    pieces: big === undefined ? words : repeatedPieces(big.bytes, big.chunkBytes),
    calls,
    inputTokens: behavior.usage?.input ?? Math.max(1, chat.inputWords),
    outputTokens: behavior.usage?.output ?? (calls.length > 0 ? outputWords : Math.max(1, words.length)),
  };
}

function greeting(chat: ChatRequest, providerName: string): string {
  const said = chat.toolResult ?? chat.lastUserText;
  const quoted = Array.from(said.slice(0, 120)).slice(0, 60).join("");
  const introduction = chat.toolResult === null ? "You said" : "The tool returned";
  return `Hello from ${providerName}. ${introduction}: "${quoted}".`;
}

function chooseToolCalls(chat: ChatRequest, behavior: Behavior): ToolCall[] {
  const { tools, toolChoice, lastUserText } = chat;
  if (behavior.toolCall === true) return [callOf(tools[0] ?? { name: "fake_tool", schema: null })];
  const [first] = tools;
  if (first === undefined || chat.toolResult !== null || toolChoice === "none") return [];
  if (typeof toolChoice === "object") {
    return [callOf(tools.find((tool) => tool.name === toolChoice.name) ?? first)];
  }
  if (/\btools twice\b/i.test(lastUserText)) return [callOf(first), callOf(tools[1] ?? first)];
  return toolChoice === "required" || /\btools?\b/i.test(lastUserText) ? [callOf(first)] : [];
}

/** Makes arguments that satisfy the most common schemas, so that clients that validate them accept the call. */
function callOf(tool: Tool): ToolCall {
  const properties = objectOf(objectOf(tool.schema)["properties"]);
  const entries = Object.entries(properties).map(([name, schema]) => [name, sampleOf(name, schema)] as const);
  return { name: tool.name, arguments: Object.fromEntries(entries) };
}

function sampleOf(name: string, schema: unknown): unknown {
  const { type, enum: choices } = objectOf(schema);
  if (Array.isArray(choices)) return listOf(choices)[0];
  switch (type) {
    case "number":
    case "integer":
      return 42;
    case "boolean":
      return true;
    case "array":
      return [];
    case "object":
      return {};
    case "null":
      return null;
    default:
      return `some ${name}`;
  }
}

export function countWords(text: string): number {
  let count = 0;
  let inside = false;
  for (let index = 0; index < text.length; index++) {
    const blank = text.charCodeAt(index) <= 32;
    if (!blank && !inside) count++;
    inside = !blank;
  }
  return count;
}

/** Splits into words, each with the white space before it, so that the joined pieces equal the text. */
function splitWords(text: string): string[] {
  return text.match(/\s*\S+|\s+$/g) ?? [];
}

function fitCount(words: string[], count: number | undefined): string[] {
  if (count === undefined || words.length === 0) return words;
  return Array.from({ length: count }, (_, index) => words[index % words.length] ?? "");
}

function* repeatedPieces(bytes: number, chunkBytes: number): Generator<string> {
  const piece = "x".repeat(Math.max(1, chunkBytes));
  let remaining = bytes;
  for (; remaining >= piece.length; remaining -= piece.length) yield piece;
  if (remaining > 0) yield piece.slice(0, remaining);
}

/** Splits serialized arguments as providers do: in several pieces, in the middle of words. */
export function splitArguments(call: ToolCall): string[] {
  return JSON.stringify(call.arguments).match(/.{1,7}/gsu) ?? [];
}

export function toolOf(declaration: unknown, schemaField: string): Tool[] {
  if (!isObject(declaration)) return [];
  const name = stringOf(declaration["name"]);
  return name === "" ? [] : [{ name, schema: declaration[schemaField] }];
}

export function lastOf(messages: unknown, role: string): unknown {
  return listOf(messages).findLast((message) => objectOf(message)["role"] === role);
}
