// Serves the console at /console. It is built on the first request and kept in memory, compressed.
import type { ConsoleFile } from "../../scripts/build-console.ts";
import { errorResponse } from "../base/error-response.ts";
import { GatehouseError } from "../base/errors.ts";
import { requestIdFrom } from "../base/ids.ts";
import { unknownPathError } from "./unknown-path.ts";

const PAGE = "index.html";

/** Allows the console to load and call this origin only; forbids inline scripts and embedding in frames. */
const HEADERS = {
  "Content-Security-Policy": [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self'",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
  ].join("; "),
  "Referrer-Policy": "no-referrer",
  "X-Content-Type-Options": "nosniff",
  "Cross-Origin-Opener-Policy": "same-origin",
};

interface Asset {
  readonly plain: Uint8Array<ArrayBuffer>;
  readonly compressed: Uint8Array<ArrayBuffer>;
  readonly headers: Readonly<Record<string, string>>;
}

type Console = (request: Request, path: string) => Promise<Response>;

export function createConsole(): Console {
  let assets: Promise<ReadonlyMap<string, Asset>> | undefined;
  return async (request, path) => {
    const requestId = requestIdFrom(request.headers.get("x-request-id"));
    if (request.method !== "GET" && request.method !== "HEAD") {
      const headers = { Allow: "GET, HEAD" };
      const error = new GatehouseError(
        "method_not_allowed",
        `${request.method} is not supported at this path. Use GET, HEAD.`,
        { headers },
      );
      return errorResponse(error, requestId);
    }
    assets ??= buildAssets();
    try {
      return serveAsset(request, path, await assets, requestId);
    } catch (cause) {
      // Build again on the next request: a missing package may be installed in the meantime.
      assets = undefined;
      const message =
        "The console cannot be built from its sources. Run npm install in the gateway's directory.";
      return errorResponse(new GatehouseError("internal_error", message, { cause }), requestId);
    }
  };
}

function serveAsset(
  request: Request,
  path: string,
  assets: ReadonlyMap<string, Asset>,
  requestId: string,
): Response {
  const name = path.slice("/console/".length);
  // The console is a single-page application, so every path without a file extension gets the same page.
  const asset = assets.get(/^[^/]+\.\w+$/.test(name) ? name : PAGE);
  if (asset === undefined) return errorResponse(unknownPathError(path), requestId);
  const headers: Record<string, string> = { ...HEADERS, ...asset.headers };
  if (request.headers.get("if-none-match") === headers["ETag"])
    return new Response(null, { status: 304, headers });
  const isCompressed = /\bgzip\b/.test(request.headers.get("accept-encoding") ?? "");
  if (isCompressed) headers["Content-Encoding"] = "gzip";
  const body = isCompressed ? asset.compressed : asset.plain;
  return new Response(request.method === "HEAD" ? null : body, { headers });
}

async function buildAssets(): Promise<ReadonlyMap<string, Asset>> {
  const { buildConsole } = await import("../../scripts/build-console.ts");
  return new Map((await buildConsole()).map((file) => [file.name, toAsset(file)]));
}

function toAsset({ name, type, text }: ConsoleFile): Asset {
  const plain = new TextEncoder().encode(text);
  return {
    plain,
    compressed: Bun.gzipSync(plain, { level: 9 }),
    headers: {
      "Content-Type": type,
      Vary: "Accept-Encoding",
      // All file names except that of the page contain a hash of the content.
      "Cache-Control": name === PAGE ? "no-cache" : "public, max-age=31536000, immutable",
      ETag: `"${Bun.hash(plain).toString(36)}"`,
    },
  };
}
