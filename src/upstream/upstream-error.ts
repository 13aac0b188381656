// Why a provider gave no answer.

export type UpstreamErrorKind =
  /** Refused, unknown name, or any other way of never being connected. */
  | "unreachable"
  /** Connected, then broken off before any byte of an answer. */
  | "broken"
  /** The answer had begun, and did not come to its end. */
  | "cut"
  /** The answer is not one that HTTP knows. */
  | "invalid"
  | "connect_timeout"
  | "first_byte_timeout"
  | "idle_timeout"
  | "total_timeout"
  /** The name leads to an address where no provider lives. */
  | "forbidden"
  /** Not the provider's fault: the client left. */
  | "client_left";

export class UpstreamError extends Error {
  readonly kind: UpstreamErrorKind;

  constructor(kind: UpstreamErrorKind, cause?: unknown) {
    super(kind, cause === undefined ? undefined : { cause });
    this.name = "UpstreamFault";
    this.kind = kind;
  }

  get isTimeout(): boolean {
    return this.kind.endsWith("_timeout");
  }
}
