// The metric series of the MCP services of one gateway.
import { redact } from "../log/redact.ts";
import { mcpOutcomeOf, type McpFacts } from "../requests/mcp-facts.ts";
import { OTHER, type HistogramSeries, type NumberSeries } from "./metric-family.ts";
import type { Metrics } from "./metrics.ts";

/** Methods that have series of their own. Clients may send any. */
const METHODS: ReadonlySet<string> = new Set([
  "GET",
  "DELETE",
  "POST",
  "response",
  "initialize",
  "ping",
  "server/discover",
  "subscriptions/listen",
  "tools/list",
  "tools/call",
  "prompts/list",
  "prompts/get",
  "resources/list",
  "resources/templates/list",
  "resources/read",
  "resources/subscribe",
  "resources/unsubscribe",
  "completion/complete",
  "logging/setLevel",
  "notifications/initialized",
  "notifications/cancelled",
  "notifications/progress",
  "notifications/roots/list_changed",
]);
/** Clients keep these open, so that their duration says nothing. */
const STREAMS: ReadonlySet<string> = new Set(["GET", "subscriptions/listen"]);
/** Series that are kept. There are more only if servers rename their tools all the time. */
const MAX_KEPT = 4000;

/** The part of a finished request that is counted. */
interface FinishedRequest {
  /** The HTTP method. */
  readonly method: string;
  readonly outcome: string;
  readonly status: number;
  readonly startedAt: number;
  readonly endedAt: number;
}

/** The code of the JSON-RPC error. */
const SESSION_NOT_FOUND = -32001;

export class ObservedMcp {
  readonly #metrics: Metrics;
  readonly #gateway: string;
  readonly #kept = new Map<string, NumberSeries | HistogramSeries>();
  /** The servers of tools that were called, by the name that clients use. */
  readonly #tools = new Map<string, string>();
  readonly openStreams: NumberSeries;
  readonly serverSessions: NumberSeries;

  constructor(metrics: Metrics, gateway: string) {
    this.#metrics = metrics;
    this.#gateway = gateway;
    this.openStreams = metrics.number("gatehouse_mcp_open_streams", { gateway });
    this.serverSessions = metrics.number("gatehouse_mcp_server_sessions", { gateway });
  }

  count(request: FinishedRequest, mcp: McpFacts): void {
    const gateway = this.#gateway;
    const server = mcp.server?.name ?? "";
    const method = labelOf(mcp.method ?? request.method);
    const outcome = mcpOutcomeOf(mcp, request);
    const seconds = (request.endedAt - request.startedAt) / 1000;
    this.#keep(`r ${server}\0${method}\0${outcome}`, () =>
      this.#metrics.number("gatehouse_mcp_requests_total", { gateway, server, method, outcome }),
    ).add();
    if (!STREAMS.has(method))
      this.#keep(`d ${server}\0${method}`, () =>
        this.#metrics.histogram("gatehouse_mcp_request_duration_seconds", { gateway, server, method }),
      ).observe(seconds);
    if (mcp.tool !== null) this.#countTool(mcp.tool, mcp, outcome, seconds);
    this.#countSession(request, mcp, outcome);
    for (const call of mcp.calls) this.#countCall(call);
  }

  /** A call that ended before its server was found is counted for the tool if an earlier one has found it. */
  #countTool(called: string, mcp: McpFacts, outcome: string, seconds: number): void {
    const gateway = this.#gateway;
    if (mcp.server !== null) {
      if (this.#tools.size >= MAX_KEPT) this.#tools.clear();
      this.#tools.set(called, mcp.server.name);
    }
    const server = mcp.server?.name ?? this.#tools.get(called) ?? "";
    const name = this.#tools.has(called) ? called : "";
    this.#keep(`t ${server}\0${name}\0${outcome}`, () =>
      this.#metrics.number("gatehouse_mcp_tool_calls_total", {
        gateway,
        server,
        tool: redact(name),
        outcome,
      }),
    ).add();
    if (mcp.server === null) return;
    this.#keep(`h ${server}\0${name}`, () =>
      this.#metrics.histogram("gatehouse_mcp_tool_call_duration_seconds", {
        gateway,
        server,
        tool: redact(name),
      }),
    ).observe(seconds);
  }

  #countCall({ server: { name: server }, method: called, fault, status }: McpFacts["calls"][number]): void {
    const gateway = this.#gateway;
    const method = labelOf(called);
    const result = fault ?? String(status ?? "none");
    this.#keep(`c ${server}\0${method}\0${result}`, () =>
      this.#metrics.number("gatehouse_mcp_server_requests_total", { gateway, server, method, result }),
    ).add();
  }

  countSilent(server: string, method: string): void {
    const labels = { gateway: this.#gateway, server, method: labelOf(method) };
    this.#metrics.number("gatehouse_mcp_silent_servers_total", labels).add();
  }

  countRefused(server: string, code: string): void {
    const labels = { gateway: this.#gateway, server, code };
    this.#metrics.number("gatehouse_mcp_refused_messages_total", labels).add();
  }

  #countSession({ method, status }: FinishedRequest, mcp: McpFacts, outcome: string): void {
    const event =
      mcp.errorCode === SESSION_NOT_FOUND
        ? "not_found"
        : mcp.method === "initialize" && outcome === "ok"
          ? "started"
          : method === "DELETE" && status === 204
            ? "ended"
            : null;
    if (event !== null)
      this.#metrics.number("gatehouse_mcp_sessions_total", { gateway: this.#gateway, event }).add();
  }

  setListed(server: string, list: string, count: number): void {
    this.#metrics.set("gatehouse_mcp_listed_items", { gateway: this.#gateway, server, list }, count);
  }

  #keep<S extends NumberSeries | HistogramSeries>(key: string, find: () => S): S {
    const known = this.#kept.get(key);
    if (known !== undefined) return known as S;
    if (this.#kept.size >= MAX_KEPT) this.#kept.clear();
    const found = find();
    this.#kept.set(key, found);
    return found;
  }
}

function labelOf(method: string): string {
  return METHODS.has(method) ? method : OTHER;
}
