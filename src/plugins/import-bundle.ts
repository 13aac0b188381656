// Imports the bundled source of a custom plugin, and resolves "gatehouse/sdk" to the SDK of the running program.
import * as sdk from "../sdk/index.ts";

// Wherever a plugin is located on disk, and whether it is on disk at all.
Bun.plugin({
  name: "gatehouse-sdk",
  setup: (build) => void build.module("gatehouse/sdk", () => ({ exports: { ...sdk }, loader: "object" })),
});

/** Resolves to the default export of a bundle. No file is needed, so another user may run it. */
export async function importBundle(source: string): Promise<unknown> {
  const url = URL.createObjectURL(new Blob([source], { type: "text/javascript" }));
  try {
    return defaultExport(await import(url));
  } finally {
    URL.revokeObjectURL(url);
  }
}

export function defaultExport(module: unknown): unknown {
  return typeof module === "object" && module !== null && "default" in module ? module.default : undefined;
}
