// The data plane's table of contents: every step that a request walks, in order.
import { notFound } from "./fail.ts";
import type { DataPlane } from "./server.ts";

export function createDataPlane(): DataPlane {
  return (request) => notFound(request, new URL(request.url).pathname);
}
