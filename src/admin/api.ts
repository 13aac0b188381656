// The Admin API as one function from request to response: authentication, routes, OpenAPI document, errors.
import { OpenAPIHono } from "@hono/zod-openapi";
import { errorResponse } from "../base/error-response.ts";
import { GatehouseError } from "../base/errors.ts";
import { requestIdFrom } from "../base/ids.ts";
import type { SignInSettings } from "../config/sign-in-settings.ts";
import type { BodyBudget } from "../http/body-budget.ts";
import type { CoarseDeadlines } from "../http/coarse-deadlines.ts";
import { requestTargetOf } from "../http/request-target.ts";
import type { Explain } from "../model/explanation.ts";
import type { OffLoop } from "../off-loop/off-loop.ts";
import type { PluginRegistry } from "../plugins/registry.ts";
import type { BudgetBook } from "../runtime/budget-book.ts";
import type { Blocks } from "../runtime/blocks.ts";
import type { GameDays } from "../runtime/game-days/game-days.ts";
import type { CurrentConfiguration } from "../runtime/current-configuration.ts";
import type { ResponseAdministration } from "../runtime/responses/share-responses.ts";
import type { ShadowSource } from "../runtime/shadow-source.ts";
import type { StoredToolPins } from "../runtime/stored-tool-pins.ts";
import type { TargetHealthSource } from "../runtime/target-health.ts";
import type { TrafficRollups } from "../runtime/traffic-rollups.ts";
import type { UpstreamPool } from "../upstream/upstream-pool.ts";
import { spenderNames } from "./spender-names.ts";
import type { UsageTotals } from "../usage/usage-totals.ts";
import type { Log } from "../telemetry/log/log.ts";
import type { LogSource } from "../telemetry/log/recent-log.ts";
import type { RequestSource } from "../telemetry/requests/request-log.ts";
import type { TrafficSource } from "../telemetry/requests/traffic.ts";
import { AuditLog } from "./audit-log.ts";
import { createAuthenticate } from "./authenticate.ts";
import { renderDocsPage } from "./docs-page.ts";
import { unhandledError } from "./unhandled-request.ts";
import { openApiDocument, type OpenApiDocument } from "./openapi.ts";
import { rejectCrossSite } from "./fall-through.ts";
import { originOf, type AdminEnvironment, type RequestBindings, type RouteTable } from "./operation.ts";
import { addResource } from "./resource-operations.ts";
import { addAdminTokenRoutes } from "./routes/admin-tokens.ts";
import { addAuditRoutes } from "./routes/audit.ts";
import { addApiKeyRoutes } from "./routes/api-keys.ts";
import { addBlockRoutes } from "./routes/blocks.ts";
import { addCacheRoutes } from "./routes/cache.ts";
import { addBudgetRoutes } from "./routes/budgets.ts";
import { addGameDayRoutes } from "./routes/game-days.ts";
import { addExplainRoutes } from "./routes/explain.ts";
import { addExportRoutes } from "./routes/export.ts";
import { addGatewayRoutes } from "./routes/gateways.ts";
import { addMcpServerRoutes } from "./routes/mcp-servers.ts";
import { virtualModels } from "./routes/models.ts";
import { addLogRoutes } from "./routes/logs.ts";
import { addConnectionTestRoutes } from "./routes/test-connection.ts";
import { addSearchRoutes } from "./routes/search.ts";
import { addServerRoutes, type ServerAddresses } from "./routes/server.ts";
import { addOverviewRoutes } from "./routes/overview.ts";
import { addPluginRoutes } from "./routes/plugins.ts";
import { addPluginShadowRoutes } from "./routes/plugin-shadow.ts";
import { addPriceRoutes } from "./routes/prices.ts";
import { addProviderRoutes } from "./routes/providers.ts";
import { addRequestRoutes } from "./routes/requests.ts";
import { addRevisionRoutes } from "./routes/revisions.ts";
import { addRuleRoutes } from "./routes/rules.ts";
import { services } from "./routes/services.ts";
import { addTargetHealthRoutes } from "./routes/target-health.ts";
import { addTrafficRoutes } from "./routes/traffic.ts";
import { upstreams } from "./routes/upstreams.ts";
import { addUsageRoutes } from "./routes/usage.ts";
import { addSignInConfiguration, addSignInRoutes } from "./sign-in/routes.ts";
import { Sessions } from "./sign-in/sessions.ts";

interface AdminApiParts {
  readonly current: CurrentConfiguration;
  readonly registry: PluginRegistry;
  readonly blocks: Blocks;
  readonly responses: ResponseAdministration;
  readonly budgetBook: BudgetBook;
  readonly gameDays: Pick<GameDays, "flush">;
  readonly toolPins: Pick<StoredToolPins, "refresh" | "lookalikes">;
  readonly usageTotals: UsageTotals;
  readonly upstreamPool: Pick<UpstreamPool, "send">;
  readonly explain: Explain;
  readonly secret: string;
  /** Null if users cannot sign in. */
  readonly signIn: SignInSettings | null;
  readonly maxBodyBytes: number;
  readonly bodyBudget: BodyBudget;
  readonly deadlines: CoarseDeadlines;
  readonly offLoop: OffLoop;
  readonly version: string;
  readonly addresses: ServerAddresses;
  readonly log: Log;
  readonly requests: RequestSource;
  readonly logs: LogSource;
  readonly traffic: TrafficSource;
  readonly trafficRollups: TrafficRollups;
  readonly targetHealth: TargetHealthSource;
  readonly shadow: ShadowSource;
}

export interface AdminApi {
  /** `address` is that of the client. */
  respond(request: Request, address: string): Promise<Response>;
  /** Records what has only been counted so far. Call it before the store is closed. */
  close(): Promise<void>;
}

export function createAdminApi(parts: AdminApiParts): AdminApi {
  const { log } = parts;
  const audit = new AuditLog(parts.current.store.audit, log, parts.deadlines.clock);
  const app = createApp(parts, audit);
  const respond: AdminApi["respond"] = async (request, address) => {
    const started = performance.now();
    const requestId = requestIdFrom(request.headers.get("x-request-id"));
    const bindings: RequestBindings = {
      requestId,
      address,
      identity: null,
      isAuthenticated: () => Promise.resolve(false),
    };
    let response: Response;
    try {
      rejectCrossSite(request, parts.signIn?.publicUrl ?? null);
      response = await app.fetch(request, bindings);
      response.headers.set("X-Request-Id", requestId);
    } catch (thrown) {
      const error = toGatehouseError(thrown, requestId, log);
      audit.countRefusal(error.code, originOf(bindings));
      response = errorResponse(error, requestId);
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
  return { respond, close: () => audit.flush() };
}

function createApp(parts: AdminApiParts, audit: AuditLog): RouteTable["app"] {
  const app = new OpenAPIHono<AdminEnvironment>({ strict: true });
  const { maxBodyBytes, bodyBudget, deadlines, offLoop } = parts;
  const table: RouteTable = { app, maxBodyBytes, bodyBudget, deadlines, offLoop, audit };
  const { signIn: settings, secret, log } = parts;
  const { identities } = parts.current.store;
  const { clock } = deadlines;
  const sessions = settings === null ? null : new Sessions(settings, identities, clock);
  const authenticate = createAuthenticate({ secret, identities, clock, sessions });
  app.use("/api/v1/*", async (context, next) => {
    const request = context.req.raw;
    context.env.identity = await authenticate(request);
    context.env.isAuthenticated = () => authenticate(request).then(() => true, isNoRejection);
    await next();
  });
  addRoutes(table, parts);
  addSignInConfiguration(table, settings, sessions);
  if (settings !== null && sessions !== null)
    addSignInRoutes(table, { settings, sessions, secret, clock, log });
  addDocumentation(table, parts.version);
  app.notFound(({ req }) => {
    throw unhandledError(app, req.method, req.path);
  });
  app.onError((error) => {
    throw error;
  });
  return app;
}

function addRoutes(table: RouteTable, parts: AdminApiParts): void {
  const { current } = parts;
  addGatewayRoutes(table, current);
  addResource(table, current, upstreams);
  addMcpServerRoutes(table, current, parts.toolPins);
  addResource(table, current, services);
  addRuleRoutes(table, current);
  addResource(table, current, virtualModels);
  const names = spenderNames(current, () => parts.usageTotals.flush());
  addBudgetRoutes(table, current, parts.budgetBook, parts.deadlines.clock, names);
  addGameDayRoutes(table, current, (id) => parts.gameDays.flush(id));
  addApiKeyRoutes(table, current);
  addAdminTokenRoutes(table, current.store);
  addBlockRoutes(table, current, parts.blocks, parts.log);
  addCacheRoutes(table, current, parts.responses);
  addUsageRoutes(table, current, parts.usageTotals);
  addPriceRoutes(table, current);
  addExplainRoutes(table, current, parts.explain, parts.requests);
  addPluginRoutes(table, parts.registry);
  addPluginShadowRoutes(table, current, parts.registry, parts.shadow);
  addProviderRoutes(table);
  addServerRoutes(table, parts.addresses);
  addRequestRoutes(table, current, parts.requests);
  addLogRoutes(table, parts.logs);
  addTargetHealthRoutes(table, current, parts.targetHealth);
  addConnectionTestRoutes(table, current, parts.upstreamPool);
  addTrafficRoutes(table, current, parts.traffic, parts.trafficRollups);
  addOverviewRoutes(table, current, parts);
  addSearchRoutes(table, current, parts.requests);
  addRevisionRoutes(table, current);
  addAuditRoutes(table, current.store.audit);
  addExportRoutes(table, current, parts.registry);
}

/** The OpenAPI document and the reference page. They are created on first use, because most processes never need them. */
function addDocumentation(table: RouteTable, version: string): void {
  let document: OpenApiDocument | undefined;
  let page: string | undefined;
  table.app.get("/api/openapi.json", () => Response.json((document ??= openApiDocument(table, version))));
  table.app.get("/api/docs", () => {
    page ??= renderDocsPage((document ??= openApiDocument(table, version)));
    const csp = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; frame-ancestors 'none'";
    return new Response(page, {
      headers: { "Content-Type": "text/html; charset=utf-8", "Content-Security-Policy": csp },
    });
  });
}

/** Without the database, a sender that was authenticated remains so. */
function isNoRejection(error: unknown): boolean {
  return !(error instanceof GatehouseError && error.code === "unauthorized");
}

/** Returns the error for the response. The cause of an internal error is logged and not shown to the client. */
function toGatehouseError(error: unknown, requestId: string, log: Log): GatehouseError {
  if (error instanceof GatehouseError) {
    if (error.code === "store_unavailable")
      log.warn({ request_id: requestId, err: error.cause, reason: error.message }, "store unavailable");
    return error;
  }
  log.error({ request_id: requestId, err: error }, "admin request failed");
  return new GatehouseError("internal_error", "Internal error. Search the gateway log for this request_id.");
}
