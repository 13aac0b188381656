// Reads JSON that a condition is matched with: only what all parsers read in the same way.
import { JsonDocument, type JsonNode } from "../../sdk/index.ts";
import { readNumber, type ExactNumber } from "./exact-number.ts";
import { UNREADABLE } from "./policy.ts";

/** Such a number may be one that a double rounds. */
const LONG_NUMBER = /\d(?:\.?\d){15}|\d[eE]/;

/** Returns UNREADABLE for a text that is not JSON, and for an object with two equal keys: a client may read either. */
export function readJson(text: string): unknown {
  const value = parse(text);
  return value === NO_JSON ? UNREADABLE : value;
}

/** Reads the result of a tool: a text that is not JSON is a string. */
export function readResult(text: string): unknown {
  const value = parse(text.startsWith("\ufeff") ? text.slice(1) : text);
  return value === NO_JSON ? text : value;
}

const NO_JSON = Symbol("no JSON");

function parse(text: string): unknown {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    return error instanceof SyntaxError ? NO_JSON : UNREADABLE;
  }
  if (typeof value === "string" || typeof value === "boolean" || value === null) return value;
  // Null for a text that is nested too deeply.
  const json = JsonDocument.parse(Buffer.from(text));
  if (json === null || hasEqualKeys(json.root)) return UNREADABLE;
  if (!LONG_NUMBER.test(text) || !hasInexactNumber(json, json.root)) return value;
  try {
    return valueOf(json, json.root);
  } catch (error) {
    if (error instanceof RangeError) return UNREADABLE;
    throw error;
  }
}

/** Whether an object within the node has two equal keys. */
export function hasEqualKeys(node: JsonNode): boolean {
  return new Set(node.keys).size < node.keys.length || node.children.some(hasEqualKeys);
}

function hasInexactNumber(json: JsonDocument, node: JsonNode): boolean {
  if (node.type === "scalar") return !isExact(scalarOf(json, node));
  return node.children.some((child) => hasInexactNumber(json, child));
}

function isExact(number: number | ExactNumber | typeof UNREADABLE | null): boolean {
  return number === null || typeof number === "number";
}

function valueOf(json: JsonDocument, node: JsonNode): unknown {
  switch (node.type) {
    case "object":
      return Object.fromEntries(
        node.children.map((child, index) => [node.keys[index] ?? "", valueOf(json, child)]),
      );
    case "array":
      return node.children.map((child) => valueOf(json, child));
    case "string":
      return json.text(node);
    case "scalar": {
      const number = scalarOf(json, node);
      if (number === UNREADABLE) throw new RangeError("the number is too long");
      return number ?? JSON.parse(json.source(node));
    }
  }
}

/** Returns null for a literal. */
function scalarOf(json: JsonDocument, node: JsonNode): number | ExactNumber | typeof UNREADABLE | null {
  const source = json.source(node);
  return source === "null" || source === "true" || source === "false"
    ? null
    : (readNumber(source) ?? UNREADABLE);
}
