// Turns any error of the data plane into the one error shape.
import { errorResponse, GatehouseError } from "../base/errors.ts";
import { requestIdFrom } from "../base/ids.ts";

export function notFound(request: Request, path: string): Response {
  const error = new GatehouseError(
    "rule_not_found",
    `No rule matches ${request.method} ${path.slice(0, 200)}.`,
  );
  return errorResponse(error, requestIdFrom(request.headers.get("x-request-id")));
}
