// The texts in responses of Gemini, whole and streamed.
import type { JsonDocument, JsonNode } from "../../base/json-nodes.ts";
import { MemberNames } from "../member-names.ts";
import { ChoiceNumbers } from "../place-number.ts";
import { ReadTexts } from "../read-texts.ts";
import { requireObject } from "../require-object.ts";
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

/** The members that lead to texts and calls. Clients read them in both spellings of the protocol. */
const NAMES = new MemberNames(
  [
    ...["candidates", "content", "parts", "index", "finishReason", "logprobsResult", "text", "thought"],
    ...[
      "thoughtSignature",
      "functionCall",
      "name",
      "args",
      "partialArgs",
      "jsonPath",
      "stringValue",
      "willContinue",
      "executableCode",
      "code",
    ],
    ...["codeExecutionResult", "output", "inlineData"],
  ],
  true,
);

export const geminiTexts: TextReader = {
  format: "gemini",
  readWhole(body, sink, isStrict) {
    const calls = new GeminiTexts(Infinity);
    const read = new ReadTexts(body, sink);
    // Without `alt=sse`, a stream is an array of events.
    if (isStrict && body.root.type !== "array") requireObject(body);
    for (const event of body.root.type === "array" ? body.root.elements : [body.root])
      calls.readEvent(body, event, read, true);
    read.readRest(isStrict ? NAMES : null);
  },
  openStream: (choices) => new GeminiTexts(choices),
  repeats: false,
  errorEvent: (error) => formatSse({ data: JSON.stringify(encodeError(error)) }),
};

class GeminiTexts {
  /** Calls are not numbered. Each is complete in one event. */
  #calls = 0;
  readonly #candidates: ChoiceNumbers;

  /** `candidates`: how many the request wants. */
  constructor(candidates: number) {
    this.#candidates = new ChoiceNumbers(candidates);
  }

  read(event: JsonDocument, sink: TextSink): void {
    requireObject(event);
    const read = new ReadTexts(event, sink);
    this.readEvent(event, event.root, read, false);
    read.readRest(NAMES);
  }

  readEvent(body: JsonDocument, event: JsonNode, sink: ReadTexts, isWhole: boolean): void {
    for (const [at, candidate] of (event.get("candidates")?.elements ?? []).entries()) {
      const index = this.#candidates.numberOf(body, candidate, at);
      for (const part of candidate.get("content")?.get("parts")?.elements ?? [])
        this.#readPart(body, sink, part, index);
      const place = { prefix: `${index}/`, empty: "{}", isWhole };
      for (const field of ["logprobsResult", "logprobs_result"])
        readProbabilities(body, sink, candidate, { field, ...place });
    }
  }

  #readPart(body: JsonDocument, sink: ReadTexts, part: JsonNode, index: number): void {
    const text = part.get("text");
    if (hasText(text)) {
      const thought = part.get("thought");
      if (thought === null || body.source(thought) !== "true")
        sink.text(`${index}/content/`, contentChannel(index), text);
      else {
        const isSigned = hasText(get(part, "thoughtSignature", "thought_signature"));
        sink.text(`${index}/${isSigned ? "signed" : "thought"}/`, reasoningChannel(index, isSigned), text);
      }
    }
    const call = get(part, "functionCall", "function_call");
    if (call === null) return;
    const key = `${index}/call/${this.#calls++}/`;
    const channel = toolChannel(index, body.text(call.get("name")));
    sink.called(call);
    const pieces = get(call, "partialArgs", "partial_args");
    if (pieces === null) readArguments(sink, key, channel, call.get("args"));
    else this.#readPieces(body, sink, pieces, index, key);
    sink.end(key);
    const continues = get(call, "willContinue", "will_continue");
    if (continues === null || body.source(continues) !== "true") sink.end(`${index}/args/`);
  }

  /** Clients join the pieces by the paths in them. As arguments they cannot be read: the call counts as one of any tool. */
  #readPieces(body: JsonDocument, sink: ReadTexts, pieces: JsonNode, index: number, key: string): void {
    sink.open(key, toolChannel(index, null));
    for (const piece of pieces.elements) {
      const text = get(piece, "stringValue", "string_value");
      const path = (body.text(get(piece, "jsonPath", "json_path")) ?? "").slice(0, MAX_PATH);
      if (hasText(text)) sink.text(`${index}/args/${path}/`, contentChannel(index), text);
    }
  }
}

/** A stream keeps the paths of its texts. Texts with longer ones count as one. */
const MAX_PATH = 256;

function get(node: JsonNode, name: string, snakeCase: string): JsonNode | null {
  return node.get(name) ?? node.get(snakeCase);
}
