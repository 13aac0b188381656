// A response that the gateway sends to a client.
import { errorBodyOf, errorHeadersOf } from "../../base/error-response.ts";
import { type GatehouseError } from "../../base/errors.ts";
import { HeaderFields } from "../header-fields.ts";

/** Where a streamed body is written to. */
export interface BodyWriter {
  /** Returns null if the client can take more; else a promise to wait for, which rejects if the client disconnects. */
  write(bytes: Uint8Array): Promise<void> | null;
}

/** A body that is written piece by piece. */
export interface StreamedBody {
  /** Resolves when the body is complete. If it rejects, the connection is reset, so that no client takes it for complete. */
  writeTo(client: BodyWriter): Promise<void>;
  /** The client has disconnected. */
  cancel(): void;
}

type ResponseBody = Uint8Array | StreamedBody | null;

interface ResponseOptions {
  readonly status?: number;
  readonly headers?: HeaderFields | Readonly<Record<string, string>>;
}

export class OutgoingResponse {
  readonly status: number;
  readonly headers: HeaderFields;
  readonly body: ResponseBody;

  constructor(body: ResponseBody | string, { status = 200, headers = {} }: ResponseOptions = {}) {
    this.status = status;
    this.headers = headers instanceof HeaderFields ? headers : HeaderFields.from(headers);
    this.body = typeof body === "string" ? Buffer.from(body) : body;
  }

  static json(value: unknown, options: ResponseOptions = {}): OutgoingResponse {
    const response = new OutgoingResponse(JSON.stringify(value), options);
    response.headers.set("Content-Type", "application/json");
    return response;
  }

  static error(error: GatehouseError, requestId: string): OutgoingResponse {
    const headers = errorHeadersOf(error, requestId);
    return OutgoingResponse.json(errorBodyOf(error, requestId), { status: error.status, headers });
  }
}

export function isStreamed(body: ResponseBody): body is StreamedBody {
  return body !== null && !(body instanceof Uint8Array);
}
