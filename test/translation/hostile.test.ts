// Requests, responses and streams with a wrong value anywhere: a translation either succeeds or throws a TranslationError, which
// becomes a 400 or 502. Anything else would be an internal error.
import fc from "fast-check";
import { describe, expect, test } from "bun:test";
import { isJsonObject, type JsonObject } from "../../src/base/json.ts";
import { FORMAT_NAMES, HUB_FORMAT, type FormatName } from "../../src/formats/format-names.ts";
import { formatNamed } from "../../src/formats/registry.ts";
import { StreamTranslation } from "../../src/formats/stream-translation.ts";
import { TranslationError } from "../../src/formats/translation-error.ts";
import { TranslationReport } from "../../src/formats/translation-report.ts";
import { NO_CONTEXT, type InboundTranslator } from "../../src/formats/translator.ts";
import { runs } from "../support/long-form.ts";
import { encodeAs, respondAs, streamAs } from "./as-provider.ts";
import { completions, requests, streams } from "./conversations.ts";

const OPTIONS = { createdAt: 1_760_000_000, targetTag: "t" };
const inputs = { numRuns: runs({ short: 25, long: 3000 }) };

const wrong = fc.oneof(
  fc.constantFrom<unknown>(undefined, null, "", "x", 0, -1, 1.5, true, [], {}, [null], [[]], [{}]),
  fc.constantFrom<unknown>(
    { type: "text" },
    { type: 1 },
    { type: "function" },
    [{ type: "image_url" }],
    [1, "a"],
  ),
  fc.jsonValue({ maxDepth: 2 }),
);

/** Returns a copy in which the node at this position has another value; undefined removes it. */
function withNodeAt(root: JsonObject, position: number, value: unknown): JsonObject {
  const setters: (() => void)[] = [];
  const copy = structuredClone(root);
  const visit = (node: unknown): void => {
    if (!isJsonObject(node) && !Array.isArray(node)) return;
    for (const [key, inner] of Object.entries(node)) {
      setters.push(() => Reflect.set(node, key, value));
      visit(inner);
    }
  };
  visit(copy);
  setters[position % Math.max(1, setters.length)]?.();
  // Removes fields that are undefined.
  return JSON.parse(JSON.stringify(copy));
}

/** Runs a translation. Returns null if it throws a TranslationError. */
function orNull<Result>(translate: () => Result): Result | null {
  try {
    return translate();
  } catch (error) {
    if (error instanceof TranslationError) return null;
    throw error;
  }
}

const CLIENTS: readonly (readonly [FormatName, InboundTranslator])[] = FORMAT_NAMES.flatMap((name) => {
  const { inbound } = formatNamed(name);
  return inbound === null ? [] : [[name, inbound] as const];
});

describe.each(CLIENTS)("%s clients", (name, inbound) => {
  test("requests with a wrong value, to every target", () => {
    fc.assert(
      fc.property(requests, fc.nat(), wrong, (request, position, value) => {
        // The Responses API has no stop sequences.
        const sent = name === HUB_FORMAT ? request : encodeAs(name, { ...request, stop: null });
        const body = withNodeAt(sent, position, value);
        orNull(() => inbound.contextOf(body));
        const decoded = orNull(() => inbound.decodeRequest(body, new TranslationReport()));
        if (decoded === null) return;
        for (const target of FORMAT_NAMES) orNull(() => encodeAs(target, decoded));
      }),
      inputs,
    );
  });

  test("responses and errors with a wrong value, from every target", () => {
    fc.assert(
      fc.property(completions, fc.nat(), wrong, (completion, position, value) => {
        for (const target of FORMAT_NAMES) {
          const { outbound } = formatNamed(target);
          const body = withNodeAt(respondAs(target, completion), position, value);
          const decoded = orNull(() => outbound.decodeResponse(body, OPTIONS));
          if (decoded !== null) expect(inbound.encodeResponse(decoded, NO_CONTEXT)).toBeObject();
          const error = outbound.decodeError({ ...body, error: value }, 400);
          expect(inbound.encodeError(error, 400, "r")).toBeObject();
        }
      }),
      inputs,
    );
  });

  test("streams with a wrong value in an event, from every target", () => {
    fc.assert(
      fc.property(streams, fc.nat(), fc.nat(), wrong, (chunks, event, position, value) => {
        for (const target of FORMAT_NAMES) {
          const events = new TextDecoder().decode(streamAs(target, chunks)).split("\n\n");
          const changed = events.map((each, index) =>
            index === event % events.length ? withWrongData(each, position, value) : each,
          );
          const stream = new StreamTranslation(formatNamed(target).outbound, inbound, OPTIONS, NO_CONTEXT);
          orNull(() => {
            stream.push(new TextEncoder().encode(changed.join("\n\n")));
            stream.ending();
            stream.takeRest();
          });
        }
      }),
      inputs,
    );
  });
});

function withWrongData(event: string, position: number, value: unknown): string {
  const [before = "", json = ""] = event.split(/(?<=^|\n)data: /);
  if (!json.startsWith("{")) return event;
  return `${before}data: ${JSON.stringify(withNodeAt(JSON.parse(json), position, value))}`;
}

test("the time for many messages of one role is linear", () => {
  const messages = Array<object>(300_000).fill({ role: "user", content: "x" });
  // Linear time takes a tenth of a second for each format, quadratic time more than a minute: longer than the timeout of this test.
  for (const name of FORMAT_NAMES)
    formatNamed(name).outbound.encodeRequest(
      { model: "m", messages },
      { report: new TranslationReport(), targetTag: "t" },
    );
}, 60_000);
