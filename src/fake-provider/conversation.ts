// What the fake says, whatever the wire format: a question reduced to what matters, and a deterministic reply.
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
  /** The text of the tool results that end the conversation, null when it does not end with any. */
  toolResult: string | null;
  tools: Tool[];
  /** "auto" calls when the user speaks of tools; a name forces that tool. */
  toolChoice: "auto" | "none" | "required" | { name: string };
  inputWords: number;
}

export interface ToolCall {
  name: string;
  arguments: Record<string, unknown>;
}

export interface ChatReply {
  model: string;
  /** The text in the pieces a stream sends; may be lazy and huge, so it is walked once. */
  pieces: Iterable<string>;
  calls: ToolCall[];
  inputTokens: number;
  outputTokens: number;
}

export function composeReply(question: ChatRequest, behavior: Behavior, providerName: string): ChatReply {
  const calls = chooseCalls(question, behavior);
  const text = calls.length > 0 ? "" : (behavior.text ?? friendlyText(question, providerName));
  const big = question.stream ? behavior.bigStream : undefined;
  const words = fitCount(splitWords(text), behavior.chunks);
  const outputWords = words.length + countWords(JSON.stringify(calls.map((call) => call.arguments)));
  return {
    model: behavior.model ?? question.model,
    pieces: big === undefined ? words : repeatedPieces(big.bytes, big.chunkBytes),
    calls,
    inputTokens: behavior.usage?.input ?? Math.max(1, question.inputWords),
    outputTokens: behavior.usage?.output ?? (calls.length > 0 ? outputWords : Math.max(1, words.length)),
  };
}

function friendlyText(question: ChatRequest, providerName: string): string {
  const said = question.toolResult ?? question.lastUserText;
  const quoted = Array.from(said.slice(0, 120)).slice(0, 60).join("");
  const introduction = question.toolResult === null ? "You said" : "The tool answered";
  return `Hello from ${providerName}. ${introduction}: "${quoted}".`;
}

function chooseCalls(question: ChatRequest, behavior: Behavior): ToolCall[] {
  const { tools, toolChoice, lastUserText } = question;
  if (behavior.toolCall === true) return [callOf(tools[0] ?? { name: "fake_tool", schema: null })];
  const [first] = tools;
  if (first === undefined || question.toolResult !== null || toolChoice === "none") return [];
  if (typeof toolChoice === "object") {
    return [callOf(tools.find((tool) => tool.name === toolChoice.name) ?? first)];
  }
  if (/\btools twice\b/i.test(lastUserText)) return [callOf(first), callOf(tools[1] ?? first)];
  return toolChoice === "required" || /\btools?\b/i.test(lastUserText) ? [callOf(first)] : [];
}

/** Arguments that satisfy the commonest schemas, so that a client which validates them is content. */
function callOf(tool: Tool): ToolCall {
  const properties = objectOf(objectOf(tool.schema)["properties"]);
  const entries = Object.entries(properties).map(([name, schema]) => [name, sampleOf(name, schema)] as const);
  return { name: tool.name, arguments: Object.fromEntries(entries) };
}

function sampleOf(name: string, schema: unknown): unknown {
  const { type, enum: choices } = objectOf(schema);
  if (Array.isArray(choices)) return choices[0] as unknown;
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

/** Words with the blanks before them, so that joining the pieces gives the text back. */
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

/** Cuts serialised arguments as models do: in the middle of words, never all at once. */
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
