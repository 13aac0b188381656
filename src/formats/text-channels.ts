// The texts of responses by channel: where whole bodies and stream events of each format hold generated text, so that plugins can read
// and replace it in every format. Each format declares its reader in its registry entry.
import { GatehouseError } from "../base/errors.ts";
import type { JsonDocument, JsonNode } from "../base/json-nodes.ts";
import type { FormatName } from "./format-names.ts";
import type { GatewayError } from "./gateway-error.ts";

/**
 * `tool_result`: what a tool, prompt, resource or completion of an MCP server returned, or a tool that a provider runs. `definitions`: a
 * list of the tools, prompts, resources or resource templates of MCP servers, as a JSON array.
 */
export type ChannelKind = "content" | "reasoning" | "tool_arguments" | "tool_result" | "definitions";

/** A text of a response that is generated piece by piece. */
export interface TextChannel {
  readonly kind: ChannelKind;
  /** The position of the choice, content block or output item that the text belongs to. */
  readonly index: number;
  /**
   * The name of the called tool; null if the text is neither its arguments nor its result, or if the name is not known. For MCP, the name of
   * the tool or prompt, or the URI of the resource, as the client uses it.
   */
  readonly tool: string | null;
  /**
   * Other names under which clients may run the call: the first and the last that the provider sent, where these are not the whole name.
   * A plugin is asked under each, and sees it as `tool`.
   */
  readonly otherTools?: readonly string[];
  /** The MCP method of the message, or that it responds to; null if this is not known, and for responses of providers. */
  readonly method: string | null;
  /** Whether the text is JSON: the arguments of all tools but those that take plain text. */
  readonly isJson: boolean;
  /** The provider signed the text, or may sign it later in the stream: a replacement is ignored. */
  readonly isReadOnly: boolean;
}

/**
 * How a text is written in JSON: as a string; as JSON that is itself the text; as a JSON array of definitions, whose names and URIs stay; or as
 * a string with base64 of UTF-8.
 */
export type TextForm = "string" | "json" | "definitions" | "base64";

/** Receives the texts of a whole body, or of one event. */
export interface TextSink {
  /** The next piece of a channel. The form is `string` if it is not given. */
  text(key: string, channel: TextChannel, node: JsonNode, form?: TextForm): void;
  /** All text of a channel that is complete with it. */
  whole(key: string, channel: TextChannel, node: JsonNode, form?: TextForm): void;
  /** A channel that may get no text, such as the arguments of a tool without any. */
  open(key: string, channel: TextChannel): void;
  /** A repetition of all text of a channel. */
  repeat(key: string, channel: TextChannel, node: JsonNode, form?: TextForm): void;
  /**
   * The tokens of a text, with their probabilities, for the channels whose keys start with `prefix`. `empty` is the JSON that takes their
   * place if the text was changed. `tokens`: the text of the tokens. `isWhole`: all of the text is beside them.
   */
  probabilities(prefix: string, node: JsonNode, empty: string, tokens: string, isWhole: boolean): void;
  /** The channels whose keys start with `prefix` are complete. */
  end(prefix: string): void;
  /** The number of the event, in formats that number them. */
  number(sequence: number): void;
}

/** Reads the events of one stream. */
export interface EventTexts {
  /** `name` is that of the event, beside its data; null if it has none. */
  read(event: JsonDocument, sink: TextSink, name: string | null): void;
}

/** A request of an MCP client, and what it names. */
export interface McpRequestName {
  readonly id: string | number;
  readonly method: string;
  /** The tool or prompt, or the URI of the resource, as the client uses it; null if it names none, or none for sure. */
  readonly item: string | null;
}

/** How messages of MCP servers are read. */
export interface McpReading {
  /** The requests of the client that the messages may respond to. */
  readonly requests: readonly McpRequestName[];
  /** The guard that must not let texts pass which it cannot inspect; null: they may pass. */
  readonly guard: string | null;
}

interface McpReaderName {
  readonly mcp: McpReading;
}

export interface TextReader {
  /** By which a worker thread finds the reader: the format of a provider, or how messages of MCP servers are read. */
  readonly format: FormatName | McpReaderName;
  /** Reads a whole body. All its channels are complete. `isStrict`: throws if clients may read other texts in it. */
  readWhole(body: JsonDocument, sink: TextSink, isStrict: boolean): void;
  /** `choices`: how many the request wants. */
  openStream(choices: number): EventTexts;
  /** Whether events repeat the text of earlier events. */
  readonly repeats: boolean;
  /** Returns the event that ends a stream with an error. `sequence` is its number, in formats that number events. */
  errorEvent(error: GatewayError, sequence: number | null): string;
}

/** Tool names that a reader of a stream remembers. A stream with more calls has channels without a name. */
const MAX_NAMES = 1024;
const MAX_NAME_LENGTH = 1024;

interface ToolName {
  readonly whole: string;
  /** Some clients keep the first or the last piece that arrives, others join all. */
  readonly first: string;
  readonly last: string;
}

/** The names of the tools that a stream calls, by the key of their channel. */
export class ToolNames {
  readonly #names = new Map<string, ToolName>();
  /** The calls whose arguments have begun. */
  readonly #begun = new Set<string>();

  /** Sets the name, or another one. */
  add(key: string, name: string | null): void {
    if (name !== null && name !== "") this.#set(key, name, name);
  }

  /**
   * Adds a piece of a name that arrives in several deltas. Some servers repeat the whole name in each delta. Throws if the name would change
   * after arguments: plugins have decided about the call by its name.
   */
  append(key: string, piece: string | null): void {
    const known = this.get(key) ?? "";
    if (piece === null || piece === "" || piece === known) return;
    if (known !== "" && this.#begun.has(key))
      throw new GatehouseError(
        "upstream_bad_answer",
        "The provider's stream goes on with the name of a tool after the arguments of its call.",
      );
    if (known.length + piece.length > MAX_NAME_LENGTH)
      throw new GatehouseError(
        "upstream_bad_answer",
        `The provider's stream has the name of a tool with more than ${MAX_NAME_LENGTH} characters.`,
      );
    this.#set(key, known + piece, piece);
  }

  /** Arguments of the call have arrived. */
  begin(key: string): void {
    if (this.#begun.size < MAX_NAMES || this.#begun.has(key)) this.#begun.add(key);
    // Without its name, no plugin allows it.
    else this.#names.delete(key);
  }

  get(key: string): string | null {
    return this.#names.get(key)?.whole ?? null;
  }

  /** Returns the channel of the arguments of a call. */
  channelOf(key: string, index: number, isJson = true): TextChannel {
    const name = this.#names.get(key);
    const channel = toolChannel(index, name?.whole ?? null, isJson);
    if (name === undefined || (name.first === name.whole && name.last === name.whole)) return channel;
    const otherTools = [...new Set([name.first, name.last])].filter((other) => other !== name.whole);
    return { ...channel, otherTools };
  }

  #set(key: string, whole: string, last: string): void {
    const known = this.#names.get(key);
    if (known === undefined && this.#names.size >= MAX_NAMES) return;
    this.#names.set(key, { whole, first: known?.first ?? last, last });
  }
}

export function contentChannel(index: number): TextChannel {
  return { kind: "content", index, tool: null, method: null, isJson: false, isReadOnly: false };
}

export function reasoningChannel(index: number, isReadOnly: boolean): TextChannel {
  return { kind: "reasoning", index, tool: null, method: null, isJson: false, isReadOnly };
}

/** An empty name is none: the real one may follow. */
export function toolChannel(index: number, tool: string | null, isJson = true): TextChannel {
  const name = tool === "" ? null : tool;
  return { kind: "tool_arguments", index, tool: name, method: null, isJson, isReadOnly: false };
}

/**
 * Reads the arguments of a call: a string, or JSON. Providers also send them in the form of another format, or not at all; such a call
 * must not escape an inspection.
 */
export function readArguments(
  sink: Pick<TextSink, "text" | "open">,
  key: string,
  channel: TextChannel,
  node: JsonNode | null,
): void {
  if (node?.type === "string") sink.text(key, channel, node);
  else if (node?.type === "object" || node?.type === "array")
    sink.text(key, { ...channel, isJson: true }, node, "json");
  else sink.open(key, channel);
}

export function resultChannel(index: number, tool: string | null, isJson: boolean): TextChannel {
  return { kind: "tool_result", index, tool, method: null, isJson, isReadOnly: false };
}

/** Reads the result of a tool: a string, or JSON. One without text, such as an image, must not escape a rule about the tool. */
export function readToolResult(
  sink: Pick<TextSink, "text" | "open" | "end">,
  key: string,
  index: number,
  tool: string | null,
  node: JsonNode | null,
): void {
  const isText = node?.type === "string";
  const isEmpty = node === null || (isText ? !hasText(node) : node.children.length === 0);
  if (isEmpty) sink.open(key, resultChannel(index, tool, false));
  else sink.text(key, resultChannel(index, tool, !isText), node, isText ? "string" : "json");
  sink.end(key);
}

/** Whether the node is a string other than `""`. */
export function hasText(node: JsonNode | null): node is JsonNode {
  return node !== null && node.type === "string" && node.end - node.start > 2;
}

/** Receives probabilities, and the strings in them that are no texts of their own. */
interface ProbabilitySink extends Pick<TextSink, "probabilities"> {
  skip(node: JsonNode): void;
}

/**
 * Finds the tokens of a text in fields of the object that has the text. They are readable where the text was replaced. Other strings beside
 * them are texts of their own.
 */
export function readProbabilities(
  body: JsonDocument,
  sink: ProbabilitySink,
  holder: JsonNode,
  { field, prefix, empty, isWhole }: { field: string; prefix: string; empty: string; isWhole: boolean },
): void {
  for (const [at, key] of holder.keys.entries()) {
    const node = holder.children[at];
    if (key !== field || node === undefined || node.children.length === 0) continue;
    const tokens = new TokenTexts(body, sink);
    tokens.read(node);
    sink.probabilities(prefix, node, empty, tokens.texts.join(""), isWhole);
  }
}

const TOKEN_KEYS = new Set(["token", "tokens"]);
/** Alternatives to the token that was chosen are not part of the text. Their members may be named like tokens. */
const ALTERNATIVES = new Set(["top_logprobs", "topCandidates"]);

class TokenTexts {
  readonly texts: string[] = [];
  readonly #body: JsonDocument;
  readonly #sink: ProbabilitySink;

  constructor(body: JsonDocument, sink: ProbabilitySink) {
    this.#body = body;
    this.#sink = sink;
  }

  /** `key`: of the node, or of its list. */
  read(node: JsonNode, key = ""): void {
    if (ALTERNATIVES.has(key)) this.#sink.skip(node);
    else if (TOKEN_KEYS.has(key)) this.#addToken(node, key);
    else this.#readChildren(node, key);
  }

  #addToken(node: JsonNode, key: string): void {
    const text = this.#body.text(node);
    if (text === null) this.#readChildren(node, key);
    else {
      this.texts.push(text);
      this.#sink.skip(node);
    }
  }

  #readChildren(node: JsonNode, key: string): void {
    for (const [index, child] of node.children.entries()) this.read(child, node.keys[index] ?? key);
  }
}
