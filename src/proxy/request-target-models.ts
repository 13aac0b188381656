// The models that the path and the query of a request name. Some providers read the model there and ignore that of the body.
import { percentDecoded } from "../base/percent-decoded.ts";

/** The segment after these is the name of a model if the one after it matches. */
const BEFORE_NAME: ReadonlyMap<string, RegExp> = new Map([
  ["deployments", /^/], // Azure OpenAI
  ["engines", /^(?:completions|embeddings|edits|search|generate)$/i], // the first version of OpenAI's API
  ["model", /^(?:invoke|converse|async-invoke|count-tokens)/i], // Amazon Bedrock
]);
/** Methods of Google's APIs, which follow the name after a colon. */
const GOOGLE_METHOD =
  /:(?:[a-z]\w*(?:Contents?|Tokens|Answer|Text|Message|Predict|PredictOperation)|predict\w*)$/;
/** Endpoints that Azure AI serves below `/models`. They read the model in the body. */
const ENDPOINT =
  /^(?:v\d\w*\/)?(?:chat\/completions|completions|(?:images\/)?embeddings|responses|messages|rerank|info)$/i;
/** Bodies for these endpoints contain several requests, refer to a file with requests, or name the model in an inner object. */
const SEVERAL_MODELS = /\/(?:batches|realtime)(?:\/|$)/i;
const QUERY_NAMES: ReadonlySet<string> = new Set([
  "model",
  "model_id",
  "modelid",
  "deployment",
  "deployment_id",
]);

/** What `modelsInPath` looks for: an encoded character, a method after a colon, or a segment before a name. */
const MAY_NAME_MODEL = /%|:[a-z]|\/(?:deployments|engines|model|models|tunedmodels|run)\//i;

/** Whether `modelsInPath` may find a name in the path of this URL; a cheap test without false negatives. */
export function mayNameModel(url: string): boolean {
  return MAY_NAME_MODEL.test(url);
}

/** Returns the names that end after `fixedLength` characters of the path: the client did not choose those before. */
export function modelsInPath(path: string, fixedLength: number): string[] {
  const encoded = path.replace(/\/+$/, "").split("/");
  const segments = encoded.map(percentDecoded);
  const models: string[] = [];
  let hasRest = false;
  let end = -1;
  for (const [index, segment] of segments.entries()) {
    end += (encoded[index]?.length ?? 0) + 1;
    const [previous = "", next = ""] = [segments[index - 1], segments[index + 1]];
    const isGoogleName = GOOGLE_METHOD.test(segment);
    const isName = isGoogleName || BEFORE_NAME.get(previous.toLowerCase())?.test(next) === true;
    if (isName && segment !== "" && end > fixedLength) models.push(segment.replace(GOOGLE_METHOD, ""));
    if (hasRest || isGoogleName || segment === "" || !isBeforeRest(segments, index - 1)) continue;
    const rest = segments.slice(index).join("/");
    hasRest = !ENDPOINT.test(rest);
    if (hasRest && path.length > fixedLength) models.push(rest);
  }
  return models;
}

/** Returns the values of all parameters that name a model. */
export function modelsInQuery(query: string): string[] {
  if (query === "") return [];
  return [...new URLSearchParams(query)].flatMap(([name, value]) => (isModelName(name) ? [value] : []));
}

/** Whether a query parameter names a model. `name` is as it is written in the query. */
export function isModelParameter(name: string): boolean {
  return [...new URLSearchParams(name).keys()].some(isModelName);
}

function isModelName(name: string): boolean {
  return QUERY_NAMES.has(name.toLowerCase());
}

/** Whether the field `model` of a body says nothing about the models that a request to this path uses. */
export function ignoresModelOfBody(path: string): boolean {
  return SEVERAL_MODELS.test(percentDecoded(path));
}

/** Whether all segments after this one are the name, which may contain slashes. */
function isBeforeRest(segments: readonly string[], index: number): boolean {
  const name = segments[index]?.toLowerCase();
  if (name === "run") return segments[index - 1]?.toLowerCase() === "ai"; // Cloudflare Workers AI
  return name === "models" || name === "tunedmodels";
}
