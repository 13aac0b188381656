// Converts objects of the Responses API between whole responses and event streams.
import { isJsonObject, type JsonObject } from "../../base/json.ts";
import { textOrEmpty } from "../json-values.ts";
import type { SseEvent } from "../sse.ts";
import type { StreamAssembly } from "./assembly.ts";
import { namedEvent, objectIn, objectsIn, withEvent } from "./read-events.ts";

export const RESPONSES_ASSEMBLY: StreamAssembly = {
  isComplete: ({ status }) => status === "completed" || status === "incomplete",
  assemble: assembleResponse,
  encode: (response) => new ResponseWriter().write(response),
  withUsage: null,
};

/** The last event of a stream has the whole response. */
function assembleResponse(events: readonly SseEvent[]): JsonObject | null {
  const last = events.at(-1);
  if (last === undefined) return null;
  const { type, response } = objectIn(last);
  if (!isJsonObject(response) || !RESPONSES_ASSEMBLY.isComplete(response)) return null;
  return type === `response.${textOrEmpty(response["status"])}` ? response : null;
}

/** The part of an item that its stream sends as one text: the field, and the events of its deltas and its end. */
const TEXT_ITEMS: Readonly<Record<string, { readonly field: string; readonly events: string }>> = {
  function_call: { field: "arguments", events: "response.function_call_arguments" },
  custom_tool_call: { field: "input", events: "response.custom_tool_call_input" },
};
const TEXT_PARTS: Readonly<Record<string, { readonly field: string; readonly events: string }>> = {
  output_text: { field: "text", events: "response.output_text" },
  refusal: { field: "refusal", events: "response.refusal" },
  reasoning_text: { field: "text", events: "response.reasoning_text" },
};

/** Writes the events of one response. */
class ResponseWriter {
  #text = "";
  #sequence = 0;

  write(response: JsonObject): string {
    const opening = { ...response, status: "in_progress", output: [], usage: null, incomplete_details: null };
    this.#event("response.created", { response: opening });
    this.#event("response.in_progress", { response: opening });
    for (const [index, item] of objectsIn(response["output"]).entries()) this.#item(index, item);
    this.#event(`response.${textOrEmpty(response["status"])}`, { response });
    return this.#text;
  }

  #event(type: string, fields: JsonObject): void {
    this.#text = withEvent(
      this.#text,
      namedEvent(type, { type, sequence_number: this.#sequence++, ...fields }),
    );
  }

  #item(outputIndex: number, item: JsonObject): void {
    const at = { item_id: item["id"], output_index: outputIndex };
    const type = textOrEmpty(item["type"]);
    const text = Object.hasOwn(TEXT_ITEMS, type) ? TEXT_ITEMS[type] : undefined;
    this.#event("response.output_item.added", {
      output_index: outputIndex,
      item: {
        ...item,
        ...("status" in item && { status: "in_progress" }),
        ...(Array.isArray(item["content"]) && { content: [] }),
        ...(Array.isArray(item["summary"]) && { summary: [] }),
        ...(text !== undefined && { [text.field]: "" }),
      },
    });
    for (const [index, part] of objectsIn(item["summary"]).entries()) this.#summary(at, index, part);
    for (const [index, part] of objectsIn(item["content"]).entries()) this.#part(at, index, part);
    if (text !== undefined) {
      const value = textOrEmpty(item[text.field]);
      this.#event(`${text.events}.delta`, { ...at, delta: value });
      this.#event(`${text.events}.done`, { ...at, [text.field]: value, name: item["name"] });
    }
    this.#event("response.output_item.done", { output_index: outputIndex, item });
  }

  #summary(at: JsonObject, index: number, part: JsonObject): void {
    const position = { ...at, summary_index: index };
    const text = textOrEmpty(part["text"]);
    this.#event("response.reasoning_summary_part.added", { ...position, part: { ...part, text: "" } });
    this.#event("response.reasoning_summary_text.delta", { ...position, delta: text });
    this.#event("response.reasoning_summary_text.done", { ...position, text });
    this.#event("response.reasoning_summary_part.done", { ...position, part });
  }

  #part(at: JsonObject, index: number, part: JsonObject): void {
    const position = { ...at, content_index: index };
    const type = textOrEmpty(part["type"]);
    const text = Object.hasOwn(TEXT_PARTS, type) ? TEXT_PARTS[type] : undefined;
    const annotations = objectsIn(part["annotations"]);
    this.#event("response.content_part.added", {
      ...position,
      part: {
        ...part,
        ...(text !== undefined && { [text.field]: "" }),
        ...(Array.isArray(part["annotations"]) && { annotations: [] }),
      },
    });
    if (text !== undefined) {
      const value = textOrEmpty(part[text.field]);
      const logprobs = type === "output_text" ? { logprobs: part["logprobs"] ?? [] } : {};
      this.#event(`${text.events}.delta`, { ...position, delta: value, ...logprobs });
      for (const [number, annotation] of annotations.entries())
        this.#event("response.output_text.annotation.added", {
          ...position,
          annotation_index: number,
          annotation,
        });
      this.#event(`${text.events}.done`, { ...position, [text.field]: value, ...logprobs });
    }
    this.#event("response.content_part.done", { ...position, part });
  }
}
