// A request of Bun's HTTP server as a ClientRequest, and its body within limits.
import { toError } from "../base/to-error.ts";
import { SMALL_BODY_BYTES } from "./body-budget.ts";
import { HeaderFields } from "./header-fields.ts";
import { IncomingBody, type BodyLimits } from "./incoming-body.ts";
import {
  isStreamed,
  type BodyWriter,
  type OutgoingResponse,
  type StreamedBody,
} from "./server/outgoing-response.ts";
import type { ClientRequest, DisconnectListener, ListenerAddress } from "./server/client-request.ts";

export class WebRequest implements ClientRequest {
  readonly method: string;
  readonly target: string;
  readonly headers: HeaderFields;
  readonly peerAddress: string;
  readonly listener: ListenerAddress | null;
  readonly #request: Request;
  #disconnectListener: DisconnectListener | null = null;

  constructor(request: Request, peerAddress: string, listener: ListenerAddress | null) {
    this.method = request.method;
    this.target = request.url;
    this.headers = HeaderFields.from(request.headers);
    this.peerAddress = peerAddress;
    this.listener = listener;
    this.#request = request;
  }

  get isDisconnected(): boolean {
    return this.#request.signal.aborted;
  }

  get disconnectListener(): DisconnectListener | null {
    return this.#disconnectListener;
  }

  set disconnectListener(listener: DisconnectListener | null) {
    if (this.#disconnectListener === null && listener !== null)
      this.#request.signal.addEventListener("abort", () => this.#disconnectListener?.onDisconnect());
    this.#disconnectListener = listener;
  }

  readBody(limits: BodyLimits): IncomingBody | null {
    return startWebBody(this.#request, limits);
  }
}

/**
 * Returns the whole body, which no longer counts in the budget. Rejects with a GatehouseError if it is too large, arrives
 * too slowly, or does not fit into the budget.
 */
export async function readWebBody(request: Request, limits: BodyLimits): Promise<Uint8Array> {
  const body = startWebBody(request, limits);
  if (body === null) return new Uint8Array(0);
  await body.received();
  const bytes = body.take();
  body.release();
  return bytes;
}

function startWebBody(request: Request, limits: BodyLimits): IncomingBody | null {
  const declared = request.headers.get("content-length");
  const length = declared === null ? null : Number(declared);
  if (length === 0 || (length === null && request.body === null)) return null;
  const body = new IncomingBody(length, limits);
  // Bun enforces the declared length, and `bytes` costs half as much as a stream.
  const isSmall = length !== null && length <= SMALL_BODY_BYTES;
  (isSmall ? readWhole(request, body) : readStream(request, body)).catch((error: unknown) =>
    body.fail(toError(error)),
  );
  return body;
}

async function readWhole(request: Request, body: IncomingBody): Promise<void> {
  body.push(await request.bytes());
  body.end();
}

async function readStream({ body: stream }: Request, body: IncomingBody): Promise<void> {
  const reader: BodyStreamReader | undefined = stream?.getReader();
  for (let part = await reader?.read(); part?.value !== undefined; part = await reader?.read()) {
    body.push(part.value);
    if (!body.isRefused) continue;
    await reader?.cancel();
    return;
  }
  body.end();
}

interface BodyStreamReader {
  read(): Promise<{ value?: Uint8Array | undefined }>;
  cancel(): Promise<void>;
}

/** Converts a response for Bun's HTTP server. */
export function toWebResponse({ status, headers, body }: OutgoingResponse): Response {
  const fields = new Headers();
  for (const [index, name] of headers.names.entries()) fields.append(name, headers.values[index] ?? "");
  const content = isStreamed(body) ? new ReadableStream(new DirectSource(body)) : body;
  return new Response(content as Uint8Array<ArrayBuffer> | ReadableStream | null, {
    status,
    headers: fields,
  });
}

/** The source of a stream that Bun pulls once. */
class DirectSource implements Bun.DirectUnderlyingSource<Uint8Array> {
  readonly type = "direct";
  readonly #body: StreamedBody;

  constructor(body: StreamedBody) {
    this.#body = body;
  }

  async pull(controller: ReadableStreamDirectController): Promise<void> {
    try {
      await this.#body.writeTo(new ControllerWriter(controller));
    } catch {
      // Bun resets the client's connection, so that the client does not take the body for complete. Bun prints a thrown
      // reason to the console, so there is none.
      // eslint-disable-next-line @typescript-eslint/only-throw-error -- Bun's way to abort a direct stream
      throw undefined;
    }
  }

  cancel(): void {
    this.#body.cancel();
  }
}

class ControllerWriter implements BodyWriter {
  readonly #controller: ReadableStreamDirectController;

  constructor(controller: ReadableStreamDirectController) {
    this.#controller = controller;
  }

  write(bytes: Uint8Array): Promise<void> | null {
    const written = this.#controller.write(bytes);
    void this.#controller.flush();
    return typeof written === "number" ? null : Promise.resolve(written).then(() => undefined);
  }
}
