// Reads the body of a request to the Admin API: JSON or, for some operations, YAML. Large ones are parsed in a worker thread.
import { GatehouseError } from "../base/errors.ts";
import { parseJsonObject, type JsonObject } from "../base/json.ts";
import { parseYamlObject } from "../base/yaml.ts";
import { LARGE_BODY_BYTES, LARGE_BODY_TIMEOUT_MS } from "../off-loop/large-body.ts";
import type { BodyLimits } from "../http/incoming-body.ts";
import { readWebBody } from "../http/web-request.ts";
import type { OffLoopPart } from "../off-loop/off-loop.ts";
import type * as parseBodyTask from "./parse-body-task.ts";

const PARSE_BODY = new URL("./parse-body-task.ts", import.meta.url);
const YAML_TYPES = /^(application|text)\/(x-)?yaml\s*(;|$)/i;
const JSON_TYPES = /^application\/(merge-patch\+)?json\s*(;|$)/i;
/** YAML takes ten times as long as JSON, and several times that to find a syntax error. */
const LARGE_YAML_BYTES = 32 * 1024;

export interface BodyRules {
  /** The body may also be YAML. */
  readonly yaml?: true;
  /** No body is the same as `{}`. */
  readonly isBodyOptional?: true;
}

export async function readBody(
  request: Request,
  parts: BodyLimits & OffLoopPart,
  { yaml, isBodyOptional }: BodyRules,
): Promise<JsonObject> {
  if (isBodyOptional === true && (request.body === null || request.headers.get("content-length") === "0"))
    return {};
  const type = request.headers.get("content-type") ?? "";
  const isYaml = yaml === true && YAML_TYPES.test(type);
  if (!isYaml && !JSON_TYPES.test(type)) {
    const accepted =
      yaml === true ? "YAML or JSON, with Content-Type: application/yaml or" : "JSON, with Content-Type:";
    throw new GatehouseError("unsupported_media_type", `Send ${accepted} application/json.`);
  }
  const bytes = await readWebBody(request, parts);
  if (bytes.byteLength <= (isYaml ? LARGE_YAML_BYTES : LARGE_BODY_BYTES))
    return isYaml ? parseYamlObject(bytes) : parseJsonObject(bytes);
  const limits = { bytes: bytes.byteLength, timeoutMs: LARGE_BODY_TIMEOUT_MS };
  const text = await parts.offLoop.run<typeof parseBodyTask>(PARSE_BODY, { bytes, isYaml }, limits);
  return JSON.parse(text) as JsonObject;
}
