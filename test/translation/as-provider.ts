// Writes requests, responses and streams in each format, as clients and providers do.
import type { JsonObject } from "../../src/base/json.ts";
import type { FormatName } from "../../src/formats/format-names.ts";
import type { ChatCompletion, ChatCompletionChunk } from "../../src/formats/openai/wire-types.ts";
import { formatNamed } from "../../src/formats/registry.ts";
import { TranslationReport } from "../../src/formats/translation-report.ts";
import { NO_CONTEXT, type ResponseContext } from "../../src/formats/translator.ts";
import { geminiResponse, geminiStream } from "./gemini-provider.ts";

export const CONTEXT: ResponseContext = { ...NO_CONTEXT, model: "any-model", includeUsage: true };
const encoder = new TextEncoder();

export function encodeAs(name: FormatName, request: JsonObject): JsonObject {
  const report = new TranslationReport();
  const encoded = formatNamed(name).outbound.encodeRequest(request, { report, targetTag: "t" });
  return JSON.parse(JSON.stringify(encoded), withoutDefaults);
}

/** Some formats require what is the default in others. */
function withoutDefaults(key: string, value: unknown): unknown {
  const isDefault = (key === "strict" && value === false) || (key === "detail" && value === "auto");
  return isDefault ? undefined : value;
}

/** Returns what a provider with this format would send. */
export function respondAs(name: FormatName, completion: ChatCompletion): JsonObject {
  const { inbound } = formatNamed(name);
  const response = inbound?.encodeResponse(completion, CONTEXT) ?? geminiResponse(completion);
  return JSON.parse(JSON.stringify(response));
}

export function streamAs(name: FormatName, chunks: readonly ChatCompletionChunk[]): Uint8Array {
  const stream = formatNamed(name).inbound?.encodeStream(CONTEXT);
  if (stream === undefined) return encoder.encode(geminiStream(chunks));
  for (const chunk of chunks) stream.chunk(chunk);
  stream.done();
  return encoder.encode(stream.take());
}
