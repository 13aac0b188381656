// Passes on the texts that the reader of a format finds, and remembers their places. Every other string of the response is text as well: a
// provider, or a server that imitates one, must not pass a guard by a field that the reader does not know.
import { GatehouseError } from "../base/errors.ts";
import type { JsonDocument, JsonNode } from "../base/json-nodes.ts";
import type { MemberNames } from "./member-names.ts";
import { isIdentifier, isIdentifierKey, isPlainKey } from "./opaque-values.ts";
import {
  contentChannel,
  hasText,
  readArguments,
  toolChannel,
  type TextChannel,
  type TextForm,
  type TextSink,
} from "./text-channels.ts";

export class ReadTexts implements TextSink {
  readonly #sink: TextSink;
  readonly #body: JsonDocument;
  /** The values that were passed on, or that have no generated text. */
  readonly #read = new Set<JsonNode>();
  /** The calls of tools that were passed on. */
  readonly #calls = new Set<JsonNode>();
  /** Values of a stream whose unknown texts are pieces, and their places. */
  readonly #joined = new Map<JsonNode, string>();
  #isJoined = false;

  constructor(body: JsonDocument, sink: TextSink) {
    this.#body = body;
    this.#sink = sink;
  }

  text(key: string, channel: TextChannel, node: JsonNode, form?: TextForm): void {
    this.#read.add(node);
    this.#sink.text(key, channel, node, form);
  }
  whole(key: string, channel: TextChannel, node: JsonNode, form?: TextForm): void {
    this.#read.add(node);
    this.#sink.whole(key, channel, node, form);
  }
  repeat(key: string, channel: TextChannel, node: JsonNode, form?: TextForm): void {
    this.#read.add(node);
    this.#sink.repeat(key, channel, node, form);
  }
  open(key: string, channel: TextChannel): void {
    this.#sink.open(key, channel);
  }
  probabilities(prefix: string, node: JsonNode, empty: string, tokens: string, isWhole: boolean): void {
    this.#sink.probabilities(prefix, node, empty, tokens, isWhole);
  }
  end(prefix: string): void {
    this.#sink.end(prefix);
  }
  number(sequence: number): void {
    this.#sink.number(sequence);
  }

  /** The reader has passed on this call, or will when its arguments arrive. */
  called(node: JsonNode): void {
    this.#calls.add(node);
  }

  /** The value has no generated text, such as what a provider repeats of the request. */
  skip(node: JsonNode | null): void {
    if (node !== null) this.#read.add(node);
  }

  /** Clients may join the unknown texts of this value with those at the same place in later events. */
  joined(node: JsonNode, place: string): void {
    this.#joined.set(node, place);
  }

  /**
   * Passes on everything else. Throws if a member of the format is spelled in another way, or occurs twice: some clients would read what
   * the reader has not. `names` is null for a body that need not have the format.
   */
  readRest(names: MemberNames | null): void {
    this.#isJoined = true;
    for (const [node, place] of this.#joined) {
      this.#walk(node, "", place, names);
      this.#read.add(node);
    }
    this.#isJoined = false;
    this.#walk(this.#body.root, "", "", names);
  }

  #walk(node: JsonNode, key: string, path: string, names: MemberNames | null): void {
    if (this.#read.has(node)) return;
    if (node.type === "string") this.#readString(node, key, path);
    else if (node.type === "array") for (const child of node.children) this.#walk(child, key, path, names);
    else if (node.type === "object") this.#walkObject(node, key, path, names);
  }

  #walkObject(node: JsonNode, key: string, path: string, names: MemberNames | null): void {
    names?.check(node);
    if (!node.keys.every(isPlainKey)) {
      this.#readRaw(node, path);
      return;
    }
    if (!this.#calls.has(node)) this.#readCall(node, key, path);
    for (const [index, child] of node.children.entries()) {
      const name = node.keys[index] ?? "";
      if (child.type !== "scalar")
        this.#walk(child, name, `${path}${name}/`.slice(0, MAX_PATH), names?.below(name) ?? null);
    }
  }

  #readString(node: JsonNode, key: string, path: string): void {
    if (!hasText(node)) return;
    if (isIdentifierKey(key) && isIdentifier(this.#body.bytes, node.start + 1, node.end - 1)) return;
    if (this.#isJoined) this.text(`further/${path}`, contentChannel(0), node);
    else this.whole(`further/${path}`, contentChannel(0), node);
  }

  /** The names of members may be text, too: then the JSON is. */
  #readRaw(node: JsonNode, path: string): void {
    if (this.#hasRead(node))
      throw new GatehouseError(
        "upstream_bad_answer",
        "The provider's response has a member whose name is no name of its format.",
      );
    this.whole(`further/${path}`, { ...contentChannel(0), isJson: true }, node, "json");
  }

  /** Whether a value within the node was passed on. */
  #hasRead(node: JsonNode): boolean {
    return node.children.some((child) => this.#read.has(child) || this.#hasRead(child));
  }

  #readCall(node: JsonNode, key: string, path: string): void {
    const name = this.#body.text(node.get("name"));
    if (name === null) return;
    const args = ARGUMENTS.find((field) => node.get(field) !== null);
    if (args === undefined && !CALLS.has(key) && !CALL_TYPE.test(this.#body.text(node.get("type")) ?? ""))
      return;
    const place = `further/call/${path}`;
    const found = {
      text: this.whole.bind(this),
      open: (opened: string, channel: TextChannel) => {
        this.open(opened, channel);
        this.end(opened);
      },
    };
    const isJson = args !== "input" || node.get(args)?.type !== "string";
    const value = args === undefined ? null : node.get(args);
    // Read above by its format, such as the delta of a call without a name.
    if (value !== null && this.#read.has(value)) return;
    readArguments(found, place, toolChannel(0, name, isJson), value);
  }
}

/** Longer places of texts are shortened: a place only identifies its text. */
const MAX_PATH = 256;
const ARGUMENTS = ["arguments", "args", "input", "partialArgs"];
/** Members whose objects are calls, also without arguments. */
const CALLS = new Set(["tool_calls", "function_call", "functionCall", "function", "custom"]);
const CALL_TYPE = /(?:^|_)(?:call|tool_use)$/;
