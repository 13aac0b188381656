// The gateway's own errors in the formats of providers, so that typed clients can read them. An entry of each format says how.

/** The shapes that an operator can select. `auto`: the format of the request. */
export const ERROR_FORMATS = ["gatehouse", "openai", "anthropic", "auto"] as const;
export type ErrorFormat = (typeof ERROR_FORMATS)[number];

/** An error of the gateway or of one of its plugins. */
export interface GatewayError {
  readonly status: number;
  readonly message: string;
  /** The stable code of the gateway, such as `rate_limit_exceeded`. */
  readonly code: string;
  /** The field of the request that the error is about; null if there is none. */
  readonly field: string | null;
  readonly requestId: string;
}
