// The endpoints of Gemini's API. Their paths end with a method: /v1beta/models/MODEL:generateContent.
import { TranslationError } from "../translation-error.ts";

export const CHAT_TAIL = "/models/{model}:generateContent";

const MODEL_PLACEHOLDER = "{model}";
const WHOLE = ":generateContent";
const STREAM = ":streamGenerateContent";
const OTHER_METHOD = /:(?:countTokens|embedContent|batchEmbedContents|batchGenerateContent)$/;

export function isChatPath(path: string): boolean {
  return path.endsWith(WHOLE) || path.endsWith(STREAM);
}

export function isOtherMethodPath(path: string): boolean {
  return OTHER_METHOD.test(path);
}

/** Inserts the model and selects the method. A path that names both, such as that of a native client, stays as it is. */
export function completePath(path: string, model: string | null, wantsStream: boolean): string {
  const isTemplate = path.includes(MODEL_PLACEHOLDER);
  if (!isTemplate && !(wantsStream && path.endsWith(WHOLE))) return path;
  const complete = isTemplate ? path.replace(MODEL_PLACEHOLDER, () => encodeModel(model)) : path;
  if (!isChatPath(complete)) return complete;
  const resource = complete.slice(0, complete.lastIndexOf(":"));
  return wantsStream ? `${resource}${STREAM}?alt=sse` : resource + WHOLE;
}

function encodeModel(model: string | null): string {
  // Lists of models name them with this prefix.
  const name = (model ?? "").replace(/^models\//, "");
  if (name === "") {
    throw new TranslationError(
      "model",
      "Gemini requires a model. Set model, or default_model of the target.",
    );
  }
  // Percent-encoding does not change dots, and a segment of dots would lead out of the path. It throws for lone surrogates.
  if (name === "." || name === ".." || !name.isWellFormed()) {
    throw new TranslationError("model", `The model ${JSON.stringify(name)} is not a valid name.`);
  }
  return encodeURIComponent(name);
}
