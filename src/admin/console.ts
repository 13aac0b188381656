// Serves the console at /console: built on the first visit and kept in memory, compressed; strict about what may run.
import type { ConsoleFile } from "../../scripts/build-console.ts";
import { errorResponse, GatehouseError } from "../base/errors.ts";
import { requestIdFrom } from "../base/ids.ts";

const PAGE = "index.html";

/** Only our own files run and are spoken to; nothing inline, nothing from elsewhere, no frame around it. */
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

export type Console = (request: Request, path: string) => Promise<Response>;

export function createConsole(): Console {
  let assets: Promise<ReadonlyMap<string, Asset>> | undefined;
  return async (request, path) => {
    const requestId = requestIdFrom(request.headers.get("x-request-id"));
    if (request.method !== "GET" && request.method !== "HEAD") {
      const headers = { Allow: "GET, HEAD" };
      const error = new GatehouseError("method_not_allowed", "Use GET, HEAD.", { headers });
      return errorResponse(error, requestId);
    }
    assets ??= buildAssets();
    try {
      return answer(request, path, await assets, requestId);
    } catch (cause) {
      // What could not be built now may be built later: a package that is missing may have come.
      assets = undefined;
      const sentence =
        "The console cannot be built from its sources; run npm install in the gateway's folder.";
      return errorResponse(new GatehouseError("internal_error", sentence, { cause }), requestId);
    }
  };
}

function answer(
  request: Request,
  path: string,
  assets: ReadonlyMap<string, Asset>,
  requestId: string,
): Response {
  const name = path.slice("/console/".length);
  // Every page of the console is the one page: which one is drawn is decided in the browser. A name with a dot is a file.
  const asset = assets.get(/^[^/]+\.\w+$/.test(name) ? name : PAGE);
  if (asset === undefined) {
    return errorResponse(
      new GatehouseError("not_found", `There is nothing at ${path.slice(0, 200)}.`),
      requestId,
    );
  }
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
      // The names of all but the page hold a hash of their content.
      "Cache-Control": name === PAGE ? "no-cache" : "public, max-age=31536000, immutable",
      ETag: `"${Bun.hash(plain).toString(36)}"`,
    },
  };
}
