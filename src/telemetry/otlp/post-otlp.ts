// Sends one export request to an OTLP collector.
import type { OtlpEndpoint } from "./otlp-settings.ts";

const SEND_TIMEOUT_MS = 10_000;
/** Retryable status codes of the OTLP specification. */
const RETRYABLE = new Set([429, 502, 503, 504]);
/** A response of OTLP has some bytes. The rest of a larger one is not read. */
const MAX_RESPONSE_BYTES = 64 * 1024;
/** A collector cannot pause exports for longer. */
const MAX_RETRY_AFTER_MS = 5 * 60_000;

interface OtlpReply {
  /** Why the request was not accepted; null if it was. */
  readonly error: string | null;
  /** How many spans or data points the collector rejected from a request that it accepted. */
  readonly rejected: number;
  readonly isRetryable: boolean;
  /** The delay that the collector asked for before the next request, 0 if none. */
  readonly retryAfterMs: number;
}

export async function postOtlp(
  { url, headers }: Pick<OtlpEndpoint, "url" | "headers">,
  body: Uint8Array,
): Promise<OtlpReply> {
  try {
    const response = await fetch(url, {
      method: "POST",
      headers: { ...headers, "Content-Type": "application/x-protobuf" },
      body,
      redirect: "manual",
      signal: AbortSignal.timeout(SEND_TIMEOUT_MS),
    });
    const rejected = rejectedIn(await readStart(response));
    if (response.ok) return { error: null, rejected, isRetryable: false, retryAfterMs: 0 };
    const error = `the collector responded with status ${response.status}`;
    const isRetryable = RETRYABLE.has(response.status);
    return { error, rejected: 0, isRetryable, retryAfterMs: retryAfterIn(response.headers) };
  } catch (cause) {
    const error = cause instanceof Error ? cause.message : String(cause);
    return { error, rejected: 0, isRetryable: true, retryAfterMs: 0 };
  }
}

/** Retry-After is a number of seconds or an HTTP date (RFC 9110, 10.2.3). */
function retryAfterIn(headers: Headers): number {
  const text = headers.get("retry-after") ?? "";
  const delayMs = /^\d+$/.test(text) ? Number(text) * 1000 : Date.parse(text) - Date.now();
  return delayMs > 0 ? Math.min(delayMs, MAX_RETRY_AFTER_MS) : 0;
}

/** Reads a small response completely, so that the connection can be used again. */
async function readStart({ body }: Response): Promise<Uint8Array> {
  const parts: Uint8Array[] = [];
  let length = 0;
  const chunks: AsyncIterable<Uint8Array> | null = body;
  for await (const chunk of chunks ?? []) {
    parts.push(chunk);
    length += chunk.byteLength;
    if (length > MAX_RESPONSE_BYTES) break;
  }
  return Buffer.concat(parts);
}

const PARTIAL_SUCCESS = 0x0a;
const REJECTED_COUNT = 0x08;

/** Field 1 (partial_success) of a response holds a message whose field 1 is the count of rejected spans or data points. */
function rejectedIn(response: Uint8Array): number {
  if (response[0] !== PARTIAL_SUCCESS || response[2] !== REJECTED_COUNT) return 0;
  let rejected = 0;
  for (let at = 3, factor = 1; at < response.length; at++, factor *= 128) {
    const byte = response[at] ?? 0;
    rejected += (byte & 0x7f) * factor;
    if (byte < 0x80) break;
  }
  return rejected;
}
