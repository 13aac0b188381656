// The stream of the Responses API: numbered events that open, fill and close each item of the output.
import { splitPieces } from "../conversation.ts";
import { type JsonObject, listOf, objectOf, stringOf } from "../loose-json.ts";
import { sseEvent } from "../response.ts";

interface Position {
  item_id: string;
  output_index: number;
}

type EventFields = JsonObject & { type: string };

/** `pieces` are the deltas of the message. They may be many, so they are taken while they are sent. */
export function* responseEvents(
  started: JsonObject,
  completed: JsonObject,
  pieces: Iterable<string>,
): Generator<Uint8Array> {
  let number = 0;
  for (const event of allEvents(started, completed, pieces))
    yield sseEvent({ ...event, sequence_number: number++ }, event.type);
}

function* allEvents(
  started: JsonObject,
  completed: JsonObject,
  pieces: Iterable<string>,
): Generator<EventFields> {
  yield { type: "response.created", response: started };
  yield { type: "response.in_progress", response: started };
  for (const [index, value] of listOf(completed["output"]).entries()) {
    const item = objectOf(value);
    yield { type: "response.output_item.added", output_index: index, item: openedItem(item) };
    yield* itemEvents(item, { item_id: stringOf(item["id"]), output_index: index }, pieces);
    yield { type: "response.output_item.done", output_index: index, item };
  }
  yield { type: "response.completed", response: completed };
}

/** Returns the item as it is when the model starts to write it. */
function openedItem(item: JsonObject): JsonObject {
  switch (item["type"]) {
    case "reasoning":
      return { ...item, summary: [] };
    case "message":
      return { ...item, status: "in_progress", content: [] };
    case "custom_tool_call":
      return { ...item, status: "in_progress", input: "" };
    default:
      return { ...item, status: "in_progress", arguments: "" };
  }
}

function* itemEvents(item: JsonObject, at: Position, pieces: Iterable<string>): Generator<EventFields> {
  switch (item["type"]) {
    case "reasoning":
      yield* summaryEvents(item, at);
      break;
    case "message":
      yield* messageEvents(item, at, pieces);
      break;
    case "custom_tool_call":
      yield* inputEvents("response.custom_tool_call_input", "input", item, at);
      break;
    default:
      yield* inputEvents("response.function_call_arguments", "arguments", item, at);
  }
}

function* summaryEvents(item: JsonObject, position: Position): Generator<EventFields> {
  for (const [index, part] of listOf(item["summary"]).entries()) {
    const at = { ...position, summary_index: index };
    const text = stringOf(objectOf(part)["text"]);
    const opened = { type: "summary_text", text: "" };
    yield { type: "response.reasoning_summary_part.added", ...at, part: opened };
    yield { type: "response.reasoning_summary_text.delta", ...at, delta: text };
    yield { type: "response.reasoning_summary_text.done", ...at, text };
    yield { type: "response.reasoning_summary_part.done", ...at, part };
  }
}

function* messageEvents(
  item: JsonObject,
  position: Position,
  pieces: Iterable<string>,
): Generator<EventFields> {
  const at = { ...position, content_index: 0 };
  const part = objectOf(listOf(item["content"])[0]);
  yield { type: "response.content_part.added", ...at, part: { ...part, text: "" } };
  for (const delta of pieces) yield { type: "response.output_text.delta", ...at, delta, logprobs: [] };
  yield { type: "response.output_text.done", ...at, text: part["text"], logprobs: [] };
  yield { type: "response.content_part.done", ...at, part };
}

function* inputEvents(
  type: string,
  field: "arguments" | "input",
  item: JsonObject,
  at: Position,
): Generator<EventFields> {
  const input = stringOf(item[field]);
  for (const delta of splitPieces(input)) yield { type: `${type}.delta`, ...at, delta };
  const name = field === "arguments" ? { name: item["name"] } : {};
  yield { type: `${type}.done`, ...at, ...name, [field]: input };
}
