// Decodes the content encoding of a response that the gateway itself must read.
import type { BodyReader } from "../http/body-reader.ts";
import type { ContentEncoding } from "../http/content-encoding.ts";
import { DecodingReader } from "../http/decoding-reader.ts";
import type { HeaderFields } from "../http/header-fields.ts";
import { UpstreamError } from "./upstream-error.ts";

interface EncodedResponse extends BodyReader {
  readonly headers: Pick<HeaderFields, "get">;
}

/**
 * Throws an UpstreamError for an unsupported encoding: the request had `Accept-Encoding: identity`, so this is the
 * provider's error.
 */
export function decodeResponse(
  response: EncodedResponse,
  encoding: ContentEncoding | "unsupported",
): BodyReader {
  if (encoding !== "unsupported") return new DecodingReader(response, encoding, toUpstreamError);
  response.cancel();
  const header = JSON.stringify(response.headers.get("content-encoding")?.slice(0, 100));
  throw new UpstreamError(
    "invalid",
    new Error(`the response has the unsupported Content-Encoding ${header}`),
  );
}

function toUpstreamError(cause: unknown): UpstreamError {
  return cause instanceof UpstreamError ? cause : new UpstreamError("cut", cause);
}
