// Translates a request from the format of the client to the format of a target.
import { GatehouseError } from "../base/errors.ts";
import { REQUEST_SEARCH_DEPTH, stringifyExact } from "../base/exact-json.ts";
import { isJsonObject, type JsonObject } from "../base/json.ts";
import { HUB_FORMAT, type FormatName } from "../formats/format-names.ts";
import { formatNamed } from "../formats/registry.ts";
import { TranslationError } from "../formats/translation-error.ts";
import { TranslationReport } from "../formats/translation-report.ts";
import type { ChatRequest } from "../formats/openai/wire-types.ts";
import type { InboundTranslator, ResponseContext } from "../formats/translator.ts";
import { orUntranslatable } from "./untranslatable.ts";

/** More than any provider accepts. */
const MAX_TRANSLATED_TOOLS = 10_000;

/** A worker thread must be able to receive and return all of it. */
export interface TranslationTask {
  /** The format of the client. */
  readonly from: FormatName;
  readonly to: FormatName;
  /** Whether the path of the client names its format. If not, the body may have the format of the target already. */
  readonly pathNamesFormat: boolean;
  /** The model that is sent to the target; null if the request names none and the target has no default. */
  readonly model: string | null;
  readonly targetTag: string;
}

export interface TranslatedRequest {
  /** Null if the request already has the format of the target. */
  readonly bytes: Uint8Array | null;
  /** Fields that the format of the target cannot express. */
  readonly dropped: readonly string[];
  /** Whether the gateway requests a summary of the reasoning, which the target may reject. */
  readonly hasSummary?: boolean;
  /** What the translation of the response has to know. */
  readonly context: ResponseContext;
}

/** Throws a GatehouseError for which `isUntranslatable` is true if the format of the target cannot express the request. */
export function translateRequest(
  json: JsonObject,
  task: TranslationTask,
  isLarge = false,
): TranslatedRequest {
  const { inbound } = formatNamed(task.from);
  if (inbound === null)
    throw new GatehouseError(
      "untranslatable",
      `Requests in the format ${task.from} are not translated. Use a target with this format.`,
    );
  const { outbound } = formatNamed(task.to);
  const context = inbound.contextOf(json, isLarge);
  requireFewTools(context);
  if (task.from === HUB_FORMAT && outbound.isRequest(json, task.pathNamesFormat))
    return { bytes: null, dropped: [], context };
  if (task.from === task.to) return { ...cleaned(json, inbound, task), context };
  const report = new TranslationReport();
  const { model, targetTag } = task;
  return orUntranslatable(() => {
    const decoded = inbound.decodeRequest(json, report);
    const request = model === null ? decoded : { ...decoded, model };
    const encoded = inClientTerms(inbound, decoded, report, () =>
      outbound.encodeRequest(request, { report, targetTag }),
    );
    const text = stringifyExact(encoded, REQUEST_SEARCH_DEPTH);
    const hasSummary = outbound.summary?.isIn(encoded) === true;
    const { dropped, emulatedStop } = report;
    const stopping = emulatedStop.length === 0 ? context : { ...context, emulatedStop };
    return { bytes: Buffer.from(text), dropped, hasSummary, context: stopping };
  });
}

/** Returns what `encode` returns. Errors name the fields as the client does, instead of those of the hub format. */
function inClientTerms(
  { fieldNames }: InboundTranslator,
  { messages }: ChatRequest,
  report: TranslationReport,
  encode: () => object,
): object {
  try {
    return encode();
  } catch (error) {
    if (!(error instanceof TranslationError)) throw error;
    const { path, code } = error;
    const [field = "", index, list, item] = path.split(/\]?[.[\]]/);
    const message: unknown = field === "messages" && Array.isArray(messages) ? messages[Number(index)] : null;
    const calls: unknown = isJsonObject(message) && list === "tool_calls" ? message[list] : null;
    const call: unknown = Array.isArray(calls) ? calls[Number(item)] : null;
    const origin = report.originOf(call) ?? report.originOf(message);
    const renamed = fieldNames.get(field);
    if (origin !== null) {
      // The parts of a message differ from those that the client sent, so only the last name is kept.
      const name = path.slice(path.lastIndexOf(".") + 1);
      throw new TranslationError(origin, `${origin}: ${error.message.replaceAll(path, name)}`, code);
    }
    if (renamed === undefined) throw error;
    const text = error.message.replaceAll(new RegExp(`\\b${field}\\b`, "g"), renamed);
    throw new TranslationError(renamed, text, code);
  }
}

/** The response to a large request is translated on the event loop, which has to receive the names from the worker thread. */
function requireFewTools({ customTools, clientTools, renamedTools }: ResponseContext): void {
  const count = customTools.length + (clientTools?.size ?? 0) + (renamedTools?.size ?? 0);
  if (count <= MAX_TRANSLATED_TOOLS) return;
  throw new GatehouseError(
    "untranslatable",
    `The request has ${count} tools whose calls have to be translated. At most ${MAX_TRANSLATED_TOOLS} can be.`,
  );
}

/** For a target of the client's own format: only the reasoning of other formats is left out. */
function cleaned(
  json: JsonObject,
  { withoutForeignReasoning }: InboundTranslator,
  { model }: TranslationTask,
): Pick<TranslatedRequest, "bytes" | "dropped"> {
  const body = withoutForeignReasoning === null ? json : withoutForeignReasoning(json);
  const request = model === null ? body : { ...body, model };
  return { bytes: Buffer.from(JSON.stringify(request)), dropped: ["reasoning"] };
}
