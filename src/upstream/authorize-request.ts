// Adds the headers of a computed credential to a request in its final form.
import { requestTargetOf, type OutgoingRequest, type RequestOrigin } from "./outgoing-request.ts";
import type { Authorize } from "./request-credential.ts";

export function authorizeRequest(
  request: OutgoingRequest,
  origin: RequestOrigin,
  authorize: Authorize,
): OutgoingRequest {
  const { method, path, headers, body } = request;
  const added = authorize({
    method,
    target: requestTargetOf(path, origin),
    host: headers["host"] ?? origin.host,
    headers,
    body,
  });
  const authorized: Record<string, string> = {};
  for (const [name, value] of Object.entries({ ...headers, ...added }))
    if (value !== undefined) authorized[name] = value;
  return { ...request, headers: authorized };
}
