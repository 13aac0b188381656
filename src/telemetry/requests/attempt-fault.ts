// Why an upstream attempt has no complete response, or one that is not used. Named `fault` as in the request log API.

export type AttemptFault =
  /** No connection: refused, unknown host name, or any other reason. */
  | "unreachable"
  /** The connection was closed before the first byte of a response. */
  | "broken"
  /** The response started and did not arrive completely. */
  | "cut"
  /** The response is not valid HTTP. */
  | "invalid"
  | "connect_timeout"
  | "first_byte_timeout"
  | "idle_timeout"
  /** A stream had no content in time. */
  | "first_content_timeout"
  | "total_timeout"
  /** A stream reported an error before its first content, or a successful response that is translated says that it failed. */
  | "error_event"
  /** A stream ended without content. */
  | "empty_stream"
  /** The host name resolves to an address that no provider has (link-local, cloud metadata). */
  | "forbidden"
  /** The request was not sent, because its token or its keys could not be obtained. */
  | "credentials"
  /** A content filter has emptied the response, and a fallback replaces it. */
  | "content_filter"
  /** Not an error of the provider: another attempt at the request had content first. */
  | "hedge_lost"
  /** Not an error of the provider: the process stops, and does not wait for copies of requests. */
  | "stopped"
  /** Not an error of the provider: a plugin rejected the request, or no longer waits for its own call to a service. */
  | "abandoned"
  /** Not an error of the provider: the client disconnected. */
  | "client_left";
