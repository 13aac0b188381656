// The state that /healthz and /readyz report on both listeners.

type Phase = "starting" | "serving" | "draining";

/** The state of a dependency as `/readyz` reports it. "away" is part of the API. */
export interface Dependency {
  readonly state: "ok" | "away" | "none";
  readonly detail?: string;
}

/** The database may also be read-only: it can be read, but rejects writes, for example because its disk is full. */
export interface StoreDependency {
  readonly state: "ok" | "away" | "read_only";
  readonly detail?: string;
  /** When the problem began; absent if there is none. */
  readonly since?: string;
}

/** A response to a health check. */
interface HealthReport {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: unknown;
}

export class Health {
  phase: Phase = "starting";
  /** Revision of the active configuration; null until one is loaded. */
  revision: number | null = null;
  store: StoreDependency = { state: "away", detail: "not connected yet" };
  /** How often a configured Redis became unavailable. */
  countersLost = 0;
  /** Decisions about limits and budgets that this process made by itself because Redis was unavailable. */
  localDecisions = 0;
  /** How often Redis had lost data of a gateway. */
  ledgerLosses = 0;
  /** Budgets of which Redis had less than the database. */
  budgetsRaised = 0;
  counters: Dependency = { state: "none", detail: "in memory" };
  /** The ledger of budgets and token limits. */
  ledger: Dependency = { state: "none", detail: "in memory" };
  /** Ids of gateways whose stored configuration does not compile in this process, with the reason. */
  readonly failedGateways = new Map<string, string>();

  /** Returns isolated plugins that crash repeatedly, as `GATEWAY_ID/PLUGIN`, with the reason. */
  faultyPlugins: () => ReadonlyMap<string, string> = () => new Map();

  /** Returns MCP servers that do not respond, as `GATEWAY_ID/SERVER`, with what they do not respond to. */
  silentMcpServers: () => ReadonlyMap<string, string> = () => new Map();

  get ready(): boolean {
    return this.phase === "serving" && this.revision !== null;
  }

  /** Returns the response for a health path, or null for any other path. */
  respond(path: string): Response | null {
    const report = this.reportAt(path);
    return report && Response.json(report.body, { status: report.status, headers: { ...report.headers } });
  }

  /** Returns what the response for a health path contains, or null for any other path. */
  reportAt(path: string): HealthReport | null {
    if (path === "/healthz") return { status: 200, headers: {}, body: { status: "ok" } };
    if (path !== "/readyz") return null;
    const faultyPlugins = this.faultyPlugins();
    const silent = this.silentMcpServers();
    const body = {
      status: this.ready ? "ready" : this.phase === "draining" ? "draining" : "starting",
      revision: this.revision,
      store: this.store,
      counters: this.counters,
      ledger: this.ledger,
      ...(this.failedGateways.size > 0 && { faulty_gateways: Object.fromEntries(this.failedGateways) }),
      ...(silent.size > 0 && { silent_mcp_servers: Object.fromEntries(silent) }),
      ...(faultyPlugins.size > 0 && { faulty_plugins: Object.fromEntries(faultyPlugins) }),
    };
    return { status: this.ready ? 200 : 503, headers: { "Cache-Control": "no-store" }, body };
  }
}
