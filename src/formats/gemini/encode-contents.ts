// Translates the messages of an OpenAI chat request to Gemini's contents: system messages become the system instruction, tool
// calls and results become parts. Gemini has no roles other than user and model.
import { parseExact } from "../../base/exact-json.ts";
import { isJsonObject, type JsonObject } from "../../base/json.ts";
import { readArray, readString, requireObject, requireString } from "../read-fields.ts";
import { TranslationError } from "../translation-error.ts";
import type { TranslationReport } from "../translation-report.ts";
import { encodeParts, encodeTexts } from "./encode-parts.ts";
import { isGemini3 } from "../models/gemini-models.ts";
import { readSignatures, SKIPPED_SIGNATURE } from "./reasoning.ts";
import { encodeToolName } from "./tool-names.ts";
import type { GeminiContent, GeminiPart } from "./wire-types.ts";
import { unknownRole } from "../openai/unknown-role.ts";

interface EncodedContents {
  readonly system: string[];
  readonly contents: GeminiContent[];
}

type ToolResult = NonNullable<GeminiPart["functionResponse"]>;

export function encodeContents(
  messages: unknown,
  model: string | undefined,
  report: TranslationReport,
): EncodedContents {
  if (!Array.isArray(messages)) throw new TranslationError("messages", "messages must be an array.");
  const encoder = new ContentsEncoder(isGemini3(model), report);
  for (const [index, value] of messages.entries()) {
    const path = `messages[${index}]`;
    encoder.add(requireObject(value, path), path);
  }
  encoder.endToolResults();
  if (encoder.contents.length === 0) {
    throw new TranslationError(
      "messages",
      'Gemini requires a message that is not a system message. Add one with the role "user".',
    );
  }
  return encoder;
}

class ContentsEncoder {
  readonly system: string[] = [];
  readonly contents: GeminiContent[] = [];
  readonly #isGemini3: boolean;
  readonly #report: TranslationReport;
  /** By id. A repeated id means the last call with it. */
  readonly #calls = new Map<string, { readonly name: string; readonly position: number }>();
  #callCount = 0;
  /** Results of these calls. They are written together, in the order of the calls. */
  #results: ToolResult[] = [];
  /** Media of the results that the model does not accept inside of them. */
  #resultMedia: GeminiPart[] = [];

  constructor(isGemini3: boolean, report: TranslationReport) {
    this.#isGemini3 = isGemini3;
    this.#report = report;
  }

  add(message: JsonObject, path: string): void {
    const role = requireString(message, "role", path);
    this.#report.dropPresent(message, ["cache_control"]);
    if (role === "tool") {
      this.#addToolResult(message, path);
      return;
    }
    this.endToolResults();
    this.#report.dropPresent(message, ["name"]);
    switch (role) {
      case "system":
      case "developer":
        // Also those in the middle of the conversation: Gemini has no place for them there.
        this.system.push(...encodeTexts(message["content"], `${path}.content`, this.#report));
        return;
      case "user":
        this.#addParts("user", encodeParts(message["content"], `${path}.content`, this.#report));
        return;
      case "assistant":
        this.#addParts("model", this.#encodeAssistant(message, path));
        return;
      default:
        throw unknownRole(role, path);
    }
  }

  /** Writes the collected results of tool calls. Gemini requires all results for one step in one content. */
  endToolResults(): void {
    if (this.#results.length === 0) return;
    const position = ({ id }: ToolResult) => this.#calls.get(id)?.position ?? 0;
    this.#results.sort((one, other) => position(one) - position(other));
    const parts: GeminiPart[] = this.#results.map((functionResponse) => ({ functionResponse }));
    // Not merged with user messages: the first content with text after a call begins a new turn.
    this.contents.push({ role: "user", parts: [...parts, ...this.#resultMedia] });
    this.#results = [];
    this.#resultMedia = [];
  }

  #addParts(role: GeminiContent["role"], parts: GeminiPart[]): void {
    // Gemini rejects empty contents.
    if (parts.length === 0) return;
    const last = this.contents.at(-1);
    const isMerged = last?.role === role && last.parts[0]?.functionResponse === undefined;
    if (isMerged) last.parts.push(...parts);
    else this.contents.push({ role, parts });
  }

  #encodeAssistant(message: JsonObject, path: string): GeminiPart[] {
    const signatures = readSignatures(message, path, this.#report);
    const texts = encodeTexts(message["content"] ?? "", `${path}.content`, this.#report);
    // A refusal has its text in `refusal`. It is part of the conversation as well.
    texts.push(...encodeTexts(readString(message, "refusal", path) ?? "", `${path}.refusal`, this.#report));
    const parts: GeminiPart[] = texts.map((text) => ({ text }));
    addTextSignatures(parts, signatures.ofText);
    for (const [index, value] of (readArray(message, "tool_calls", path) ?? []).entries()) {
      const call = decodeToolCall(value, `${path}.tool_calls[${index}]`);
      this.#calls.set(call.id, { name: call.name, position: this.#callCount++ });
      const signature = signatures.ofCalls.get(call.id) ?? this.#replacementSignature(index);
      parts.push(
        signature === null ? { functionCall: call } : { functionCall: call, thoughtSignature: signature },
      );
    }
    return parts;
  }

  /** Only the first of several parallel calls has a signature. */
  #replacementSignature(callIndex: number): string | null {
    if (!this.#isGemini3 || callIndex > 0) return null;
    this.#report.drop("reasoning");
    return SKIPPED_SIGNATURE;
  }

  #addToolResult(message: JsonObject, path: string): void {
    const id = requireString(message, "tool_call_id", path);
    const call = this.#calls.get(id);
    if (call === undefined) {
      throw new TranslationError(
        `${path}.tool_call_id`,
        `${path}.tool_call_id must be the id of a tool call in an assistant message before it: Gemini requires the name of the function.`,
      );
    }
    const { name } = call;
    const parts = encodeParts(message["content"] ?? "", `${path}.content`, this.#report);
    const text = parts.map((part) => part.text ?? "").join("");
    const media = parts.filter((part) => part.text === undefined);
    // Gemini's documentation names these two keys.
    const response: JsonObject = message["is_error"] === true ? { error: text } : { output: text };
    const isNested = this.#isGemini3 && media.length > 0;
    this.#results.push(isNested ? { id, name, response, parts: media } : { id, name, response });
    if (!isNested) this.#resultMedia.push(...media);
  }
}

/** A signature belongs to the last text. The text of the part that had it is not known, so further ones get empty parts. */
function addTextSignatures(parts: GeminiPart[], signatures: readonly string[]): void {
  for (const [index, thoughtSignature] of signatures.entries()) {
    const last = parts.at(-1);
    if (index === 0 && last !== undefined) last.thoughtSignature = thoughtSignature;
    else parts.push({ text: "", thoughtSignature });
  }
}

function decodeToolCall(value: unknown, path: string): NonNullable<GeminiPart["functionCall"]> {
  const call = requireObject(value, path);
  const id = requireString(call, "id", path);
  if (isJsonObject(call["custom"])) {
    const name = encodeToolName(requireString(call["custom"], "name", `${path}.custom`));
    return { id, name, args: { input: requireString(call["custom"], "input", `${path}.custom`) } };
  }
  if (!isJsonObject(call["function"])) {
    throw new TranslationError(
      path,
      `${path} must be a function call: {"id", "type": "function", "function"}.`,
    );
  }
  const name = encodeToolName(requireString(call["function"], "name", `${path}.function`));
  return { id, name, args: parseArguments(call["function"], `${path}.function`) };
}

function parseArguments(call: JsonObject, parent: string): JsonObject {
  const text = requireString(call, "arguments", parent);
  // Some providers send "" if there are no arguments.
  if (text.trim() === "") return {};
  let value: unknown;
  try {
    value = parseExact(text);
  } catch {
    value = null;
  }
  if (isJsonObject(value)) return value;
  const path = `${parent}.arguments`;
  throw new TranslationError(path, `${path} must be a JSON object written as a string, for example "{}".`);
}
