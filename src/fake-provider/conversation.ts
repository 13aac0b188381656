// The content of chat replies, independent of the wire format: a normalized request and a deterministic reply.
import type { Behavior, ScriptedTurn } from "./behavior.ts";
import { type JsonObject, isObject, listOf, objectOf, stringOf } from "./loose-json.ts";

export interface Tool {
  name: string;
  schema: unknown;
  /** A tool of the Responses API whose input is text instead of JSON. */
  custom?: boolean;
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
  /** Number of replies of the model in the conversation so far. */
  modelTurns: number;
  wantsThinking: boolean;
  inputWords: number;
}

interface ToolCall {
  name: string;
  arguments: Record<string, unknown>;
  custom: boolean;
}

export interface ChatReply {
  model: string;
  /** Null if the request does not ask for thinking. */
  thinking: string | null;
  /** False if the reply consists of tool calls only. */
  hasText: boolean;
  /** The whole text; empty if the pieces are generated. */
  text: string;
  /** The text, split into the pieces that a stream sends. May be generated lazily and be huge: iterate it only once. */
  pieces: Iterable<string>;
  calls: ToolCall[];
  /** Includes the cached tokens. */
  inputTokens: number;
  cachedTokens: number;
  /** Includes the reasoning tokens. */
  outputTokens: number;
  reasoningTokens: number;
}

export function composeReply(chat: ChatRequest, behavior: Behavior, providerName: string): ChatReply {
  const turn = scriptedTurn(chat, behavior.turns);
  const calls = turn === null ? chooseToolCalls(chat, behavior) : scriptedCalls(chat, turn);
  const usualText = calls.length > 0 ? "" : (behavior.text ?? greeting(chat, providerName));
  const words = fitCount(splitWords(turn?.text ?? usualText), behavior.chunks);
  const thinking = chat.wantsThinking ? (turn?.thinking ?? behavior.thinking ?? THINKING) : null;
  const big = chat.stream ? behavior.bigStream : undefined;
  const { usage } = behavior;
  const reasoningTokens = usage?.reasoning ?? countWords(thinking ?? "");
  const callWords = calls.length > 0 ? countWords(JSON.stringify(calls.map((call) => call.arguments))) : 0;
  return {
    model: behavior.model ?? chat.model,
    thinking,
    hasText: calls.length === 0 || words.length > 0,
    text: big === undefined ? words.join("") : "",
    pieces: big === undefined ? words : repeatedPieces(big.bytes, big.chunkBytes),
    calls,
    inputTokens: usage?.input ?? Math.max(1, chat.inputWords),
    cachedTokens: usage?.cached ?? 0,
    outputTokens: usage?.output ?? Math.max(1, words.length + callWords) + reasoningTokens,
    reasoningTokens,
  };
}

const THINKING = "The user wants a short reply.";

function scriptedTurn(chat: ChatRequest, turns: readonly ScriptedTurn[] | undefined): ScriptedTurn | null {
  const turn = turns?.[chat.modelTurns];
  if (turn === undefined) return null;
  return chat.tools.length === 0 && listOf(turn.calls).length > 0 ? null : turn;
}

/** The script may be JSON of a client, so its fields are not trusted to have their types. */
function scriptedCalls(chat: ChatRequest, turn: ScriptedTurn): ToolCall[] {
  return listOf(turn.calls).map((call) => {
    const { name, arguments: given } = objectOf(call);
    const custom = chat.tools.some((tool) => tool.name === name && tool.custom === true);
    return { name: stringOf(name, "fake_tool"), arguments: objectOf(given), custom };
  });
}

/** Counts the runs of consecutive entries that the model wrote: one reply may consist of several entries. */
export function countModelTurns(
  entries: readonly unknown[],
  isFromModel: (entry: JsonObject) => boolean,
): number {
  let count = 0;
  let inside = false;
  for (const entry of entries) {
    const fromModel = isFromModel(objectOf(entry));
    if (fromModel && !inside) count++;
    inside = fromModel;
  }
  return count;
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
  if (tool.custom === true) return { name: tool.name, arguments: { input: "some input" }, custom: true };
  const properties = objectOf(objectOf(tool.schema)["properties"]);
  const entries = Object.entries(properties).map(([name, schema]) => [name, sampleOf(name, schema)] as const);
  return { name: tool.name, arguments: Object.fromEntries(entries), custom: false };
}

function sampleOf(name: string, schema: unknown): unknown {
  const { type, enum: choices } = objectOf(schema);
  if (Array.isArray(choices)) return listOf(choices)[0];
  // Gemini accepts the names of types in upper case.
  switch (stringOf(type).toLowerCase()) {
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

/** Splits the input of a tool as providers do: in several pieces, in the middle of words. */
export function splitPieces(input: string): string[] {
  return input.match(/.{1,7}/gsu) ?? [];
}

/** Returns the arguments as the model writes them: JSON, or the text for a custom tool. */
export function inputOf(call: ToolCall): string {
  return call.custom ? stringOf(call.arguments["input"]) : JSON.stringify(call.arguments);
}

export function toolOf(declaration: unknown, schemaField: string): Tool[] {
  if (!isObject(declaration)) return [];
  const name = stringOf(declaration["name"]);
  return name === "" ? [] : [{ name, schema: declaration[schemaField] }];
}

export function lastOf(messages: unknown, role: string): unknown {
  return listOf(messages).findLast((message) => objectOf(message)["role"] === role);
}
