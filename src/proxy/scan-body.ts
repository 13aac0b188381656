// Creates a RequestBody. The fields of a large one are read in a worker thread if its content makes that slow.
import { GatehouseError } from "../base/errors.ts";
import type { ValueOrPromise } from "../base/value-or-promise.ts";
import { LARGE_BODY_BYTES, LARGE_BODY_TIMEOUT_MS } from "../off-loop/large-body.ts";
import type { OffLoop } from "../off-loop/off-loop.ts";
import type * as bodyFieldsTask from "./body-fields-task.ts";
import type { Exchange } from "./exchange.ts";
import { RequestBody, type BodySource } from "./request-body.ts";

const TASK = new URL("./body-fields-task.ts", import.meta.url);

/** Up to this size, a large body is read on the event loop if it has few values. */
const MAX_ON_LOOP_BYTES = 2 * 1024 * 1024;
/**
 * Bodies with more values are read in a thread. A prompt of 1 MB has 5,000 values and is read in 0.3 ms, less than copying it to a thread
 * takes. This many values take 1 ms, in the worst case 3 ms; a body of LARGE_BODY_BYTES can have twice as many.
 */
const MAX_ON_LOOP_VALUES = 64 * 1024;

/**
 * Throws or rejects as `RequestBody.scan` does. Returns a promise only for a large body. `usesDigest`: the digest of the body is needed
 * later, so that equal bodies are recognized by it.
 */
export function scanBody(
  source: BodySource,
  offLoop: OffLoop,
  usesDigest = false,
): ValueOrPromise<RequestBody> {
  const { bytes, isJson, contentType } = source;
  if (bytes.byteLength <= LARGE_BODY_BYTES || (!isJson && contentType === null))
    return usesDigest && bytes.byteLength <= LARGE_BODY_BYTES
      ? RequestBody.scanOnce(source)
      : RequestBody.scan(source);
  const isTried = isJson && bytes.byteLength <= MAX_ON_LOOP_BYTES;
  return (
    (isTried ? RequestBody.scanSparse(source, MAX_ON_LOOP_VALUES) : null) ?? scanOffLoop(source, offLoop)
  );
}

async function scanOffLoop(source: BodySource, offLoop: OffLoop): Promise<RequestBody> {
  const { bytes, isJson, contentType, isTraced } = source;
  const limits = { bytes: bytes.byteLength, timeoutMs: LARGE_BODY_TIMEOUT_MS };
  const fields = await offLoop.run<typeof bodyFieldsTask>(
    TASK,
    { bytes, isJson, contentType, isTraced },
    limits,
  );
  return RequestBody.withFields(source, fields);
}

/** Scans the large body that a plugin set. Invalid JSON is an error of that plugin, not of the client. */
export async function scanReplacedBody(
  exchange: Exchange,
  body: RequestBody,
  offLoop: OffLoop,
): Promise<null> {
  try {
    exchange.setBody(await scanBody(body, offLoop));
  } catch (error) {
    if (!(error instanceof GatehouseError) || error.code !== "invalid_json") throw error;
    throw new GatehouseError("plugin_failed", "A plugin replaced the body by one that is not valid JSON.", {
      cause: error,
    });
  }
  return null;
}
