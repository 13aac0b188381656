// The option `stream_options.include_usage`, without which OpenAI chat streams do not report their usage.
import { isJsonObject } from "../../base/json.ts";
import { insertFirst, spliceTopLevel } from "../../base/json-splice.ts";
import type { StreamUsageOption } from "../format.ts";

const OPTION = Buffer.from('"stream_options":{"include_usage":true},');

export const streamUsageOption: StreamUsageOption = {
  canAdd,
  add,
  fieldNames: ["stream_options", "include_usage"],
};

/** Whether the client itself requests the usage of its stream. */
export function requestsStreamUsage(options: unknown): boolean {
  return isJsonObject(options) && options["include_usage"] === true;
}

function canAdd(options: unknown): boolean {
  if (options === undefined || options === null) return true;
  // Options of a wrong type are left as they are, for the provider to reject.
  return isJsonObject(options) && (options["include_usage"] ?? false) === false;
}

function add(body: Uint8Array, given: unknown): Uint8Array {
  if (given === undefined) return insertFirst(body, OPTION);
  const spliced = spliceTopLevel(new TextDecoder().decode(body), "stream_options", (options) =>
    options?.startsWith("{") === true
      ? spliceTopLevel(options, "include_usage", () => "true")
      : '{"include_usage":true}',
  );
  return Buffer.from(spliced);
}
