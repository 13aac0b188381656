// A text of a response as it was received, and how another text is written in its place.
import { parseBounded } from "../../base/bounded-json.ts";
import { GatehouseError } from "../../base/errors.ts";
import { applySplices, JsonDocument, type JsonNode, type Splice } from "../../base/json-nodes.ts";
import type { TextForm } from "../../formats/text-channels.ts";

/** A text as it was received, and where its JSON is located. */
export interface FoundText {
  readonly start: number;
  readonly end: number;
  /** `plain`: the bytes are no JSON, but the text itself. */
  readonly form: TextForm | "plain";
  readonly text: string;
  /** The JSON that replaces the text if it was changed at all; absent if the changed text does. */
  readonly empty?: string;
}

/** Returns null if the node is no string, or one with invalid escapes. */
export function readText(json: JsonDocument, node: JsonNode, form: TextForm): string | null {
  if (form === "json" || form === "definitions") return json.source(node);
  const text = json.text(node);
  return text === null || form === "string" ? text : Buffer.from(text, "base64").toString();
}

/** Returns JSON in which other texts are in the place of those that were found. Throws if JSON is replaced by something else. */
export function replaceTexts(json: Uint8Array, replaced: readonly FoundText[]): Uint8Array {
  const splices = replaced.map((found): Splice => {
    const { start, end } = found;
    return { start, end, bytes: bytesOf(found, json.subarray(start, end)) };
  });
  return applySplices(
    json,
    splices.sort((a, b) => a.start - b.start),
  );
}

function bytesOf({ form, text }: FoundText, original: Uint8Array): Uint8Array {
  switch (form) {
    case "plain":
      return Buffer.from(text);
    case "string":
      return Buffer.from(JSON.stringify(text));
    case "base64":
      return Buffer.from(`"${Buffer.from(text).toString("base64")}"`);
    case "json":
      checkJson(text);
      return Buffer.from(text);
    case "definitions":
      checkJson(text);
      return withKnownNames(Buffer.from(text), original);
  }
}

function checkJson(text: string): void {
  try {
    parseBounded(text);
  } catch {
    throw new GatehouseError(
      "plugin_failed",
      "A plugin replaced the arguments of a tool by text that is not JSON.",
    );
  }
}

/** The name by which clients use an item of a list of MCP, the most specific first. */
const NAME_KEYS = ["uriTemplate", "uri", "name"];

/** Returns the list without items whose name a plugin has changed: a client could not use them. */
function withKnownNames(changed: Uint8Array, original: Uint8Array): Uint8Array {
  const known = new Set(itemsIn(original).map(({ name }) => name));
  const items = itemsIn(changed);
  const kept = items.filter(({ name }) => known.has(name)).map(({ bytes }) => bytes);
  if (kept.length === items.length) return changed;
  const separated = kept.flatMap((bytes, index) => (index === 0 ? [bytes] : [Buffer.from(","), bytes]));
  return Buffer.concat([Buffer.from("["), ...separated, Buffer.from("]")]);
}

function itemsIn(list: Uint8Array): { readonly name: string | null; readonly bytes: Uint8Array }[] {
  const json = JsonDocument.parse(list);
  return (json?.root.elements ?? []).map((item) => {
    const named = NAME_KEYS.map((key) => item.get(key)).find((node) => node !== null) ?? null;
    return { name: json?.text(named) ?? null, bytes: list.subarray(item.start, item.end) };
  });
}
