// Reasoning that its provider signed: a changed one is rejected. It exists only in the shapes that APIs give it, in messages of the assistant.
// The same members elsewhere mean nothing, and leave a text as it is.
import type { JsonNode } from "../base/json-nodes.ts";

interface Shape {
  /** Null: `thought` is true, and there is no type. */
  readonly type: string | null;
  /** The member whose value, or the element of whose value, the reasoning is. */
  readonly places: ReadonlySet<string>;
  readonly signature: readonly string[];
  /** The members that the signature covers. */
  readonly covered: ReadonlySet<string>;
}

const SHAPES: readonly Shape[] = [
  // Anthropic, and routers that forward its blocks beside the content of a chat message.
  shape("thinking", ["content", "thinking_blocks"], ["signature"], ["thinking"]),
  // Responses.
  shape("reasoning", ["input"], ["encrypted_content"], ["summary", "content"]),
  // Chat completions of routers.
  shape("reasoning.text", ["reasoning_details"], ["signature"], ["text"]),
  shape("reasoning.summary", ["reasoning_details"], ["signature"], ["summary"]),
  // Gemini.
  shape(null, ["parts"], ["thoughtsignature", "thought_signature"], ["text"]),
];

/** What the shapes are recognized by. */
interface ReasoningReader {
  valuesOf(node: JsonNode, key: string): readonly string[];
  isTrue(node: JsonNode, key: string): boolean;
}

/** Returns the members that a signature covers, in lower case; null if the object is no signed reasoning. `member`: the key of its list. */
export function signedMembersOf(
  node: JsonNode,
  member: string,
  reader: ReasoningReader,
): ReadonlySet<string> | null {
  for (const { type, places, signature, covered } of SHAPES) {
    if (!places.has(member)) continue;
    const types = reader.valuesOf(node, "type");
    const isType =
      type === null
        ? types.length === 0 && reader.isTrue(node, "thought")
        : types.length === 1 && types[0] === type;
    if (isType && signature.some((key) => reader.valuesOf(node, key).some((value) => value !== "")))
      return covered;
  }
  return null;
}

function shape(
  type: string | null,
  places: readonly string[],
  signature: readonly string[],
  covered: readonly string[],
): Shape {
  return { type, places: new Set(places), signature, covered: new Set(covered) };
}
