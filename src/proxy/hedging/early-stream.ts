// The response to a stream request that waits for its first content: status 200 and comments, which commit no target. If all attempts
// fail afterwards, an error event in the client's format ends the stream.
import { errorBodyOf } from "../../base/error-response.ts";
import { GatehouseError } from "../../base/errors.ts";
import type { ValueOrPromise } from "../../base/value-or-promise.ts";
import type { Format } from "../../formats/format.ts";
import { NO_CONTEXT } from "../../formats/translator.ts";
import { HUB_FORMAT } from "../../formats/format-names.ts";
import { formatNamed } from "../../formats/registry.ts";
import type { CoarseDeadlines } from "../../http/coarse-deadlines.ts";
import { HeaderFields } from "../../http/header-fields.ts";
import {
  isStreamed,
  OutgoingResponse,
  type BodyWriter,
  type StreamedBody,
} from "../../http/server/outgoing-response.ts";
import type { CompiledRule } from "../../snapshot/compiled-rule.ts";
import type { Exchange } from "../exchange.ts";
import { KeepAliveComments } from "../keep-alive-comments.ts";
import { endpointAt } from "../request-endpoint.ts";
import type { TargetResponse } from "../target-response.ts";
import { parseJson } from "../translate-whole.ts";

/** Clients get a comment at least every 5 seconds. Errors before the first one are ordinary error responses. */
const FIRST_COMMENT_MS = 4_500;

/** How the attempts are waited for, and how the request ends. */
export interface EarlyParts {
  readonly attempted: Promise<TargetResponse>;
  readonly relay: (response: TargetResponse) => ValueOrPromise<OutgoingResponse>;
  /** Ends the request without a response of a provider. Returns the error that the client gets. */
  readonly fail: (error: unknown) => GatehouseError;
  readonly deadlines: CoarseDeadlines;
}

/** Resolves to null if the attempts have ended before the first comment is due, or if no comment may be sent. */
export async function earlyStream(
  exchange: Exchange,
  rule: CompiledRule,
  parts: EarlyParts,
): Promise<OutgoingResponse | null> {
  const format = commentedFormat(exchange, rule);
  if (format === null) return null;
  const ended = parts.attempted.then(
    () => false,
    () => false,
  );
  const late = Promise.withResolvers<boolean>();
  const timer = exchange.clock.setTimeout(() => late.resolve(true), FIRST_COMMENT_MS);
  const isLate = await Promise.race([ended, late.promise]);
  timer.close();
  if (!isLate) return null;
  const headers = new HeaderFields();
  headers.set("Content-Type", "text/event-stream; charset=utf-8");
  headers.set("Cache-Control", "no-cache");
  headers.set("X-Accel-Buffering", "no");
  headers.set("X-Request-Id", exchange.requestId);
  headers.set("Request-Id", exchange.requestId);
  exchange.addResponseHeaders(headers);
  return new OutgoingResponse(new EarlyStream(exchange, format, parts), { status: 200, headers });
}

/** Returns the format of the stream that the client gets; null if it is not known to be a stream of events, or plugins need its headers. */
function commentedFormat(exchange: Exchange, rule: CompiledRule): Format | null {
  const { fields, handshake, gateway } = exchange;
  const [target] = rule.upstream.targets;
  if (!fields.wantsStream || handshake !== null || target === undefined) return null;
  if (gateway?.chain !== null && gateway?.chain.post_request !== null) return null;
  try {
    const { path, format, responseFormat } = endpointAt(exchange, rule, target);
    const sent = responseFormat ?? format;
    return format.isChatPath(path) && sent.inbound !== null ? sent : null;
  } catch (error) {
    if (error instanceof GatehouseError) return null;
    throw error;
  }
}

class EarlyStream implements StreamedBody {
  readonly #exchange: Exchange;
  readonly #format: Format;
  readonly #parts: EarlyParts;
  /** The body of the response that is relayed; null before. */
  #relayed: StreamedBody | null = null;

  constructor(exchange: Exchange, format: Format, parts: EarlyParts) {
    this.#exchange = exchange;
    this.#format = format;
    this.#parts = parts;
  }

  async writeTo(client: BodyWriter): Promise<void> {
    const comments = new KeepAliveComments(client, this.#parts.deadlines);
    comments.expire();
    let relayed: OutgoingResponse;
    let isEventStream: boolean;
    try {
      const response = await this.#parts.attempted;
      isEventStream = response.isStream && response.upstreamResponse.ok;
      relayed = await this.#parts.relay(response);
    } catch (error) {
      this.#writeError(client, this.#parts.fail(error));
      return;
    } finally {
      comments.stop();
    }
    await this.#write(client, relayed, isEventStream);
  }

  cancel(): void {
    if (this.#relayed === null) this.#exchange.onDisconnect();
    else this.#relayed.cancel();
  }

  async #write(
    client: BodyWriter,
    { status, body }: OutgoingResponse,
    isEventStream: boolean,
  ): Promise<void> {
    if (isEventStream && isStreamed(body)) {
      this.#relayed = body;
      await body.writeTo(client);
    } else if (isEventStream && body !== null && !isStreamed(body)) await client.write(body);
    else {
      if (isStreamed(body)) body.cancel();
      const json = body === null || isStreamed(body) ? null : parseJson(body);
      this.#writeEvent(client, this.#format.outbound.decodeError(json, status < 400 ? 502 : status));
    }
  }

  #writeError(client: BodyWriter, error: GatehouseError): void {
    const { requestId } = this.#exchange;
    const { error: message, code } = errorBodyOf(error, requestId);
    const hub = formatNamed(HUB_FORMAT);
    const body = hub.encodeError({ status: error.status, message, code, field: null, requestId });
    this.#writeEvent(client, hub.outbound.decodeError(body, error.status));
  }

  #writeEvent(client: BodyWriter, body: Parameters<ErrorWriter>[0]): void {
    const encoder = this.#format.inbound?.encodeStream(NO_CONTEXT);
    encoder?.error(body);
    client.write(Buffer.from(encoder?.take() ?? ""))?.catch(() => undefined);
  }
}

type ErrorWriter = ReturnType<NonNullable<Format["inbound"]>["encodeStream"]>["error"];
