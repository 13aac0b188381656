// Encodes an error of the gateway as Google's APIs return errors. The gateway's code is the reason in the details.
import type { GatewayError } from "../gateway-error.ts";

const STATUSES: Readonly<Record<number, string>> = {
  401: "UNAUTHENTICATED",
  402: "RESOURCE_EXHAUSTED",
  403: "PERMISSION_DENIED",
  404: "NOT_FOUND",
  408: "DEADLINE_EXCEEDED",
  409: "ABORTED",
  429: "RESOURCE_EXHAUSTED",
  502: "UNAVAILABLE",
  503: "UNAVAILABLE",
  504: "DEADLINE_EXCEEDED",
};

export function encodeError({ status, message, code, requestId }: GatewayError): object {
  const details = [
    {
      "@type": "type.googleapis.com/google.rpc.ErrorInfo",
      reason: code.toUpperCase(),
      domain: "gatehouse",
      metadata: { request_id: requestId },
    },
  ];
  const name = STATUSES[status] ?? (status < 500 ? "INVALID_ARGUMENT" : "INTERNAL");
  return { error: { code: status, message, status: name, details } };
}
