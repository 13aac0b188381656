// The error for a request that no operation handles: 405 if the path has other methods, else 404.
import type { OpenAPIHono } from "@hono/zod-openapi";
import { METHOD_NAME_ALL } from "hono/router";
import { GatehouseError } from "../base/errors.ts";
import type { AdminEnvironment } from "./operation.ts";
import { unknownPathError } from "./unknown-path.ts";

/** `Allow` is derived from the routes of `app`. */
export function unhandledError(
  app: OpenAPIHono<AdminEnvironment>,
  method: string,
  path: string,
): GatehouseError {
  const methods = new Set(app.routes.map((route) => route.method));
  // Hono serves HEAD with the handler for GET.
  const allow = [...methods]
    .filter((each) => isHandled(app, each, path))
    .flatMap((each) => (each === "GET" ? ["GET", "HEAD"] : [each]))
    .join(", ");
  if (allow === "") return unknownPathError(path);
  const message = `${method} is not supported at this path. Use ${allow}.`;
  return new GatehouseError("method_not_allowed", message, { headers: { Allow: allow } });
}

/** Ignores middleware: it is registered for every method (`ALL`) and never responds to a request by itself. */
function isHandled(app: OpenAPIHono<AdminEnvironment>, method: string, path: string): boolean {
  if (method === METHOD_NAME_ALL) return false;
  return app.router.match(method, path)[0].some(([[, route]]) => route.method !== METHOD_NAME_ALL);
}
