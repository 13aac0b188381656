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
  readToolResult,
  reasoningChannel,
  toolChannel,
  type TextReader,
  type TextSink,
} from "../text-channels.ts";
import { encodeError } from "./encode-error.ts";
import { HOSTED_PARTS, hostedTool, type HostedPart } from "./tool-parts.ts";

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
    ...["toolCall", "toolResponse", "toolType", "response", "groundingMetadata", "urlContextMetadata"],
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
      this.#readGrounding(sink, candidate, index);
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
    for (const hosted of HOSTED_PARTS) this.#readHosted(body, sink, part, index, hosted);
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

  /** Reads the call or the result of a tool that Google runs. */
  #readHosted(body: JsonDocument, sink: ReadTexts, part: JsonNode, index: number, hosted: HostedPart): void {
    const node = get(part, ...hosted.names);
    if (node === null) return;
    const { isResult, content } = hosted;
    // What has a name as well contradicts itself: it counts as one of any tool.
    const type = node.get("name") === null ? body.text(get(node, "toolType", "tool_type")) : null;
    const tool = hosted.tool ?? (type === null ? null : hostedTool(type));
    const value = content === null ? node : node.get(content);
    const key = `${index}/call/${this.#calls++}/`;
    if (isResult) readToolResult(sink, key, index, tool, value);
    else {
      sink.called(node);
      readArguments(sink, key, toolChannel(index, tool), value);
      sink.end(key);
    }
  }

  /** Sources are the results of tools that Google runs. Their calls are not in the response. */
  #readGrounding(sink: ReadTexts, candidate: JsonNode, index: number): void {
    const sources = get(candidate, "groundingMetadata", "grounding_metadata");
    const pages = get(candidate, "urlContextMetadata", "url_context_metadata");
    for (const [node, tool] of [
      [sources, sources === null ? null : toolOfSources(sources)],
      [pages, URL_CONTEXT],
    ] as const)
      if (node !== null && node.children.length > 0)
        readToolResult(sink, `${index}/call/${this.#calls++}/`, index, tool, node);
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

/** Returns null for sources of several tools. */
function toolOfSources(sources: JsonNode): string | null {
  const tools = new Set<string>();
  for (const source of get(sources, "groundingChunks", "grounding_chunks")?.elements ?? [])
    for (const key of source.keys) tools.add(TOOLS_OF_SOURCES.get(key) ?? GOOGLE_SEARCH);
  const [tool = GOOGLE_SEARCH] = tools;
  return tools.size > 1 ? null : tool;
}

const URL_CONTEXT = "url_context";
const GOOGLE_SEARCH = "google_search";
const TOOLS_OF_SOURCES: ReadonlyMap<string, string> = new Map([
  ["maps", "google_maps"],
  ["retrievedContext", "file_search"],
  ["retrieved_context", "file_search"],
]);

/** A stream keeps the paths of its texts. Texts with longer ones count as one. */
const MAX_PATH = 256;

function get(node: JsonNode, name: string, snakeCase: string): JsonNode | null {
  return node.get(name) ?? node.get(snakeCase);
}
