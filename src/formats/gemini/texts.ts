// The texts in responses of Gemini, whole and streamed.
import type { JsonDocument, JsonNode } from "../../base/json-nodes.ts";
import { formatSse } from "../sse.ts";
import {
  contentChannel,
  hasText,
  readArguments,
  readProbabilities,
  reasoningChannel,
  toolChannel,
  type TextReader,
  type TextSink,
} from "../text-channels.ts";
import { encodeError } from "./encode-error.ts";

export const geminiTexts: TextReader = {
  format: "gemini",
  readWhole(body, sink) {
    const calls = new GeminiTexts();
    // Without `alt=sse`, a stream is an array of events.
    for (const event of body.root.type === "array" ? body.root.elements : [body.root])
      calls.readEvent(body, event, sink, true);
  },
  openStream: () => new GeminiTexts(),
  repeats: false,
  errorEvent: (error) => formatSse({ data: JSON.stringify(encodeError(error)) }),
};

class GeminiTexts {
  /** Calls are not numbered. Each is complete in one event. */
  #calls = 0;

  read(event: JsonDocument, sink: TextSink): void {
    this.readEvent(event, event.root, sink, false);
  }

  readEvent(body: JsonDocument, event: JsonNode, sink: TextSink, isWhole: boolean): void {
    for (const [at, candidate] of (event.get("candidates")?.elements ?? []).entries()) {
      const index = body.number(candidate.get("index")) ?? at;
      for (const part of candidate.get("content")?.get("parts")?.elements ?? [])
        this.#readPart(body, sink, part, index);
      const place = { prefix: `${index}/`, empty: "{}", isWhole };
      readProbabilities(body, sink, candidate, { field: "logprobsResult", ...place });
      if (candidate.get("finishReason")?.type === "string") sink.end(`${index}/`);
    }
  }

  #readPart(body: JsonDocument, sink: TextSink, part: JsonNode, index: number): void {
    const text = part.get("text");
    if (hasText(text)) {
      const thought = part.get("thought");
      if (thought === null || body.source(thought) !== "true")
        sink.text(`${index}/content/`, contentChannel(index), text);
      else {
        const isSigned = hasText(part.get("thoughtSignature"));
        sink.text(`${index}/${isSigned ? "signed" : "thought"}/`, reasoningChannel(index, isSigned), text);
      }
    }
    const call = part.get("functionCall");
    if (call === null) return;
    const key = `${index}/call/${this.#calls++}/`;
    const channel = toolChannel(index, body.text(call.get("name")));
    readArguments(sink, key, channel, call.get("args"));
    sink.end(key);
  }
}
