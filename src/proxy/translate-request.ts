// Translates a chat request from the hub format to the format of a target.
import { GatehouseError } from "../base/errors.ts";
import type { JsonObject } from "../base/json.ts";
import type { FormatName } from "../formats/format-names.ts";
import { formatNamed } from "../formats/registry.ts";
import { TranslationError } from "../formats/translation-error.ts";

/**
 * Returns the request for this model in the format, or null if `json` already has the format. Throws a GatehouseError if the
 * format cannot express the request.
 */
export function translateRequest(
  format: FormatName,
  json: JsonObject,
  model: string | null,
): Uint8Array | null {
  const { translator } = formatNamed(format);
  if (translator === null || translator.isRequest(json)) return null;
  try {
    return Buffer.from(JSON.stringify(translator.encodeRequest(model === null ? json : { ...json, model })));
  } catch (error) {
    if (!(error instanceof TranslationError)) throw error;
    const details = [{ path: error.path, message: error.message }];
    throw new GatehouseError("untranslatable", error.message, { details });
  }
}
