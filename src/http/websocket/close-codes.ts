// Close codes of WebSockets (RFC 6455, section 7.4, and the IANA registry).

export const CLOSE = {
  normal: 1000,
  goingAway: 1001,
  protocolError: 1002,
  /** Never sent: the close frame had no code. */
  noStatus: 1005,
  /** Never sent: the connection ended without a close frame. */
  abnormal: 1006,
  invalidText: 1007,
  policyViolation: 1008,
  messageTooBig: 1009,
  internalError: 1011,
  tryAgainLater: 1013,
} as const;

/** Whether an endpoint may send this code. 1004, 1005, 1006, and 1015 are reserved. */
export function isSendable(code: number): boolean {
  if (code >= 3000 && code <= 4999) return true;
  return (code >= 1000 && code <= 1003) || (code >= 1007 && code <= 1014);
}
