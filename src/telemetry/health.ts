// What /healthz and /readyz tell, on both listeners.

export type Phase = "starting" | "serving" | "draining";

/** The state of something the gateway depends on, as `/readyz` names it. */
export interface Dependency {
  readonly state: "ok" | "away" | "none";
  readonly detail?: string;
}

export class Health {
  phase: Phase = "starting";
  /** Revision of the configuration in force; null until one is loaded. */
  revision: number | null = null;
  store: Dependency = { state: "away", detail: "not connected yet" };
  /** How often a configured Redis went away. */
  countersLost = 0;
  counters: Dependency = { state: "none", detail: "in memory" };
  /** Gateways whose stored configuration does not compile here, with the reason. */
  readonly failedGateways = new Map<string, string>();

  get ready(): boolean {
    return this.phase === "serving" && this.revision !== null;
  }

  /** The answer to a health path, or null for any other path. */
  answer(path: string): Response | null {
    if (path === "/healthz") return Response.json({ status: "ok" });
    if (path !== "/readyz") return null;
    const body = {
      status: this.ready ? "ready" : this.phase === "draining" ? "draining" : "starting",
      revision: this.revision,
      store: this.store,
      counters: this.counters,
      ...(this.failedGateways.size > 0 && { faulty_gateways: Object.fromEntries(this.failedGateways) }),
    };
    return Response.json(body, { status: this.ready ? 200 : 503, headers: { "Cache-Control": "no-store" } });
  }
}
