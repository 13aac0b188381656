// Loads the code of MCP services with the first request to one: most gateways have none.
import type { ValueOrPromise } from "../../base/value-or-promise.ts";
import { isPromise } from "../../base/value-or-promise.ts";
import type { McpPlane, McpPlaneParts } from "./mcp-plane.ts";

export class LazyMcp {
  readonly #parts: McpPlaneParts;
  #plane: ValueOrPromise<McpPlane> | null = null;

  constructor(parts: McpPlaneParts) {
    this.#parts = parts;
  }

  /** Runs `use` with the loaded code. */
  with<T>(use: (plane: McpPlane) => ValueOrPromise<T>): ValueOrPromise<T> {
    const plane = (this.#plane ??= this.#load());
    return isPromise(plane) ? plane.then(use) : use(plane);
  }

  async #load(): Promise<McpPlane> {
    const { McpPlane: Plane } = await import("./mcp-plane.ts");
    const plane = new Plane(this.#parts);
    this.#plane = plane;
    return plane;
  }
}
