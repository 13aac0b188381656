// Every string of a response is passed on as a text, or the response is rejected, wherever the string is; and no text twice.
import { expect, test } from "bun:test";
import fc from "fast-check";
import { GatehouseError } from "../base/errors.ts";
import { JsonDocument, type JsonNode } from "../base/json-nodes.ts";
import { FORMAT_NAMES } from "./format-names.ts";
import { formatNamed } from "./registry.ts";
import type { TextSink } from "./text-channels.ts";
import { runs } from "../../test/support/long-form.ts";

const MARK = "a text; with spaces";
const NAMES = [
  ...[
    "choices",
    "delta",
    "message",
    "content",
    "text",
    "tool_calls",
    "function",
    "function_call",
    "arguments",
  ],
  ...[
    "name",
    "input",
    "type",
    "id",
    "data",
    "output",
    "item",
    "part",
    "response",
    "content_block",
    "thinking",
  ],
  ...[
    "candidates",
    "parts",
    "functionCall",
    "args",
    "error",
    "results",
    "logs",
    "citations",
    "title",
    "other",
  ],
  ...["logprobs", "logprobsResult", "token", "note"],
];
const TYPES = [
  ...[
    "message_start",
    "content_block_start",
    "content_block_delta",
    "response.created",
    "response.completed",
  ],
  ...[
    "response.output_item.added",
    "response.output_item.done",
    "response.output_text.delta",
    "x.delta",
    "x",
  ],
];

/** JSON with the mark at a path of names and array positions. */
const marked = fc
  .tuple(
    fc.array(fc.tuple(fc.constantFrom(...NAMES), fc.boolean()), { minLength: 1, maxLength: 7 }),
    fc.constantFrom(...TYPES),
  )
  .map(([path, type]) => {
    const value = path.reduceRight<unknown>(
      (inner, [name, isList]) => ({ [name]: isList ? [inner] : inner }),
      MARK,
    );
    return { type, ...(value as object) };
  });

/** Returns the places of the texts, and those of values without generated text. */
function placesIn(body: JsonDocument, read: (sink: TextSink) => void): readonly JsonNode[] {
  const places: JsonNode[] = [];
  const add = (_key: string, _channel: unknown, node: JsonNode) => void places.push(node);
  const ignore = () => undefined;
  // The tokens are a text in the place of all probabilities.
  const probabilities = (_prefix: string, node: JsonNode, _empty: string, tokens: string) =>
    void (tokens !== "" && places.push(node));
  try {
    read({ text: add, whole: add, repeat: add, open: ignore, probabilities, end: ignore, number: ignore });
  } catch (error) {
    if (!(error instanceof GatehouseError)) throw error;
    return [body.root];
  }
  return places;
}

test.each(FORMAT_NAMES)("%s", (format) => {
  const { texts } = formatNamed(format);
  fc.assert(
    fc.property(marked, fc.boolean(), (value, isWhole) => {
      const bytes = Buffer.from(JSON.stringify(value));
      const body = JsonDocument.parse(bytes);
      if (body === null) throw new Error("the test has no JSON");
      const places = placesIn(body, (sink) => {
        if (isWhole) texts.readWhole(body, sink, false);
        else texts.openStream(1).read(body, sink, null);
      });
      const at = bytes.indexOf(MARK);
      expect(places.filter(({ start, end }) => start <= at && end > at)).toHaveLength(1);
    }),
    { numRuns: runs({ short: 400, long: 2000 }) },
  );
});
