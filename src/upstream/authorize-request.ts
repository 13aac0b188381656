// Adds the headers of a computed or fetched credential to a request in its final form.
import { requestTargetOf, type OutgoingRequest, type RequestOrigin } from "./outgoing-request.ts";
import type { AddedHeaders, Authorize } from "./request-credential.ts";

export function credentialHeadersFor(
  { method, path, headers, body }: OutgoingRequest,
  origin: RequestOrigin,
  authorize: Authorize,
): AddedHeaders {
  const host = headers["host"] ?? origin.host;
  return authorize({ method, target: requestTargetOf(path, origin), host, headers, body });
}

export function withHeaders(request: OutgoingRequest, added: AddedHeaders): OutgoingRequest {
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries({ ...request.headers, ...added }))
    if (value !== undefined) headers[name] = value;
  return { ...request, headers };
}
