// A credential that is computed for each request (a signature) or fetched beforehand (a token), as opposed to a fixed header.
import type { ValueOrPromise } from "../base/value-or-promise.ts";

/** A request in its final form, as it is written to the connection. */
export interface WireRequest {
  readonly method: string;
  /** The path with the query, as in the request line. */
  readonly target: string;
  /** The value of the Host header. */
  readonly host: string;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array | null;
}

/** Headers that authorize a request. They replace headers with the same name; undefined removes one. */
export type AddedHeaders = Readonly<Record<string, string | undefined>>;

export type Authorize = (request: WireRequest) => AddedHeaders;

export interface RequestCredential {
  /** Returns a promise only if something has to be fetched first. Rejects with a CredentialError. */
  authorizer(now: number): ValueOrPromise<Authorize>;
}

/** Why there is no token or key. The message names no secret and may be shown to clients. */
export class CredentialError extends Error {
  constructor(message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = "CredentialError";
  }
}
