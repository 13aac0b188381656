// What identifies a conversation in the body of a request: a key of the client, else the tools, the instructions and the first
// user turn, which stay the same from turn to turn and are what providers cache. Runs on the event loop and in worker threads.
import { isJsonObject, type JsonObject } from "../../base/json.ts";

/** Roles of messages before the first user turn. */
const INSTRUCTING: ReadonlySet<unknown> = new Set(["system", "developer"]);

export function conversationTextOf(body: JsonObject): string {
  const metadata = isJsonObject(body["metadata"]) ? body["metadata"] : {};
  for (const key of [body["prompt_cache_key"], body["previous_response_id"], metadata["user_id"]])
    if (typeof key === "string" && key !== "") return `key ${key}`;
  const instructions = [
    contentOf(body["system"]),
    body["instructions"],
    body["system_instruction"],
    body["systemInstruction"],
  ];
  const tools = body["tools"] ?? null;
  const unmarkedTools = Array.isArray(tools) ? tools.map(unmarked) : tools;
  return `turns ${JSON.stringify([unmarkedTools, instructions, ...firstTurns(body).map(turnOf)])}`;
}

/** Returns the messages up to the first one of a user. */
function firstTurns(body: JsonObject): unknown[] {
  const turns = body["messages"] ?? body["input"] ?? body["contents"] ?? body["prompt"];
  if (!Array.isArray(turns)) return [turns];
  const first = turns.findIndex((turn) => !isJsonObject(turn) || !INSTRUCTING.has(turn["role"]));
  return turns.slice(0, first < 0 ? turns.length : first + 1);
}

function turnOf(turn: unknown): unknown {
  return isJsonObject(turn)
    ? { ...turn, content: contentOf(turn["content"]), cache_control: undefined }
    : turn;
}

/** Clients move the mark for the provider's cache to the last message, and write a marked text as a block and others as a string. */
function contentOf(content: unknown): unknown {
  if (!Array.isArray(content)) return content;
  const blocks = content.map(unmarked);
  const [only] = blocks;
  const isText = blocks.length === 1 && isJsonObject(only) && only["type"] === "text";
  return isText ? only["text"] : blocks;
}

/** JSON leaves out what is undefined. */
function unmarked(value: unknown): unknown {
  return isJsonObject(value) && value["cache_control"] !== undefined
    ? { ...value, cache_control: undefined }
    : value;
}
