// The Admin API as one function from request to answer: authentication, routes, documents, errors.
import { OpenAPIHono } from "@hono/zod-openapi";
import { errorResponse, GatehouseError } from "../base/errors.ts";
import { requestIdFrom } from "../base/ids.ts";
import { requestTargetOf } from "../http/request-target.ts";
import type { Counters } from "../counters/counters.ts";
import type { Explain } from "../model/explanation.ts";
import type { PluginRegistry } from "../plugins/registry.ts";
import type { CurrentConfiguration } from "../runtime/current-configuration.ts";
import type { TargetHealthSource } from "../runtime/target-health.ts";
import type { UsageTotals } from "../usage/usage-totals.ts";
import type { Log } from "../telemetry/log/log.ts";
import type { RequestSource } from "../telemetry/requests/request-log.ts";
import type { TrafficSource } from "../telemetry/requests/traffic.ts";
import { createAuthenticate } from "./authenticate.ts";
import { addChildRoutes } from "./child-routes.ts";
import { renderDocsPage } from "./docs-page.ts";
import { openApiDocument, registerComponents } from "./openapi.ts";
import type { AdminEnvironment, RouteTable } from "./operation.ts";
import { addApiKeyRoutes } from "./routes/api-keys.ts";
import { addBlockRoutes } from "./routes/blocks.ts";
import { addExplainRoutes } from "./routes/explain.ts";
import { addExportRoutes } from "./routes/export.ts";
import { addGatewayRoutes } from "./routes/gateways.ts";
import { addPluginRoutes } from "./routes/plugins.ts";
import { addPriceRoutes } from "./routes/prices.ts";
import { addProviderRoutes } from "./routes/providers.ts";
import { addRequestRoutes } from "./routes/requests.ts";
import { addRevisionRoutes } from "./routes/revisions.ts";
import { rules } from "./routes/rules.ts";
import { services } from "./routes/services.ts";
import { addTargetHealthRoutes } from "./routes/target-health.ts";
import { addTrafficRoutes } from "./routes/traffic.ts";
import { upstreams } from "./routes/upstreams.ts";
import { addUsageRoutes } from "./routes/usage.ts";

export interface AdminApiParts {
  readonly current: CurrentConfiguration;
  readonly registry: PluginRegistry;
  readonly counters: Counters;
  readonly usageTotals: UsageTotals;
  readonly explain: Explain;
  readonly secret: string;
  readonly maxBodyBytes: number;
  readonly version: string;
  readonly log: Log;
  readonly requests: RequestSource;
  readonly traffic: TrafficSource;
  readonly targetHealth: TargetHealthSource;
}

export type AdminApi = (request: Request) => Promise<Response>;

export function createAdminApi(parts: AdminApiParts): AdminApi {
  const { current, log } = parts;
  const table: RouteTable = {
    app: new OpenAPIHono<AdminEnvironment>({ strict: true }),
    maxBodyBytes: parts.maxBodyBytes,
    methodsByPath: new Map(),
  };
  const authenticate = createAuthenticate(parts.secret);
  table.app.use("/api/v1/*", async (context, next) => {
    context.set("subject", await authenticate(context.req.raw.headers.get("authorization")));
    await next();
  });
  addGatewayRoutes(table, current);
  addChildRoutes(table, current, upstreams);
  addChildRoutes(table, current, services);
  addChildRoutes(table, current, rules);
  addApiKeyRoutes(table, current);
  addBlockRoutes(table, current, parts.counters);
  addUsageRoutes(table, current, parts.usageTotals);
  addPriceRoutes(table, current);
  addExplainRoutes(table, current, parts.explain);
  addPluginRoutes(table, parts.registry);
  addProviderRoutes(table);
  addRequestRoutes(table, current, parts.requests);
  addTargetHealthRoutes(table, current, parts.targetHealth);
  addTrafficRoutes(table, current, parts.traffic);
  addRevisionRoutes(table, current);
  addExportRoutes(table, current);
  addDocuments(table, parts.version);
  const allowedMethods = compileAllowedMethods(table);
  table.app.notFound((context) => {
    throw notFoundOrNotAllowed(context.req.method, context.req.path, allowedMethods(context.req.path));
  });
  table.app.onError((error) => {
    throw error;
  });

  return async (request) => {
    const started = performance.now();
    const requestId = requestIdFrom(request.headers.get("x-request-id"));
    let response: Response;
    try {
      response = await table.app.fetch(request);
      response.headers.set("X-Request-Id", requestId);
    } catch (error) {
      response = errorResponse(describeFault(error, requestId, log), requestId);
    }
    const { path } = requestTargetOf(request.url);
    const ms = Math.round((performance.now() - started) * 100) / 100;
    log.info(
      {
        plane: "admin",
        request_id: requestId,
        method: request.method,
        path,
        status: response.status,
        ms,
      },
      "request",
    );
    return response;
  };
}

function addDocuments(table: RouteTable, version: string): void {
  registerComponents(table);
  // Made on first use: most processes are never asked.
  let document: ReturnType<typeof openApiDocument> | undefined;
  let page: string | undefined;
  table.app.get("/api/openapi.json", () => Response.json((document ??= openApiDocument(table, version))));
  table.app.get("/api/docs", () => {
    page ??= renderDocsPage((document ??= openApiDocument(table, version)));
    const csp = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; frame-ancestors 'none'";
    return new Response(page, {
      headers: { "Content-Type": "text/html; charset=utf-8", "Content-Security-Policy": csp },
    });
  });
  table.methodsByPath.set("/api/openapi.json", ["get"]).set("/api/docs", ["get"]);
}

function compileAllowedMethods({ methodsByPath }: RouteTable): (path: string) => string[] {
  const patterns = [...methodsByPath].map(([template, methods]) => ({
    pattern: new RegExp(`^${template.replaceAll(/:\w+/g, "[^/]+")}$`),
    methods: methods.flatMap((method) => (method === "get" ? ["GET", "HEAD"] : [method.toUpperCase()])),
  }));
  return (path) => patterns.find(({ pattern }) => pattern.test(path))?.methods ?? [];
}

function notFoundOrNotAllowed(method: string, path: string, allowed: readonly string[]): GatehouseError {
  if (allowed.length === 0)
    return new GatehouseError("not_found", `There is nothing at ${path.slice(0, 200)}.`);
  return new GatehouseError(
    "method_not_allowed",
    `${method} is not possible here; use ${allowed.join(", ")}.`,
    {
      headers: { Allow: allowed.join(", ") },
    },
  );
}

/** What the client is told. A fault of ours is told in the log only. */
function describeFault(error: unknown, requestId: string, log: Log): GatehouseError {
  if (error instanceof GatehouseError) {
    if (error.code === "store_unavailable")
      log.warn({ request_id: requestId, err: error.cause }, error.message);
    return error;
  }
  log.error({ request_id: requestId, err: error }, "the Admin API failed");
  return new GatehouseError(
    "internal_error",
    "Something went wrong here; the log has it under the request id.",
  );
}
