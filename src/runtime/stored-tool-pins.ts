// Pinned definitions of tools: which ones are approved, kept in memory for requests, and in the store for all nodes. What servers
// list is written there a little later, never by a request.
import type { Clock, ClockTimer } from "../base/clock.ts";
import { toError } from "../base/to-error.ts";
import type { SeenDefinition } from "../store/sql-mcp-tools.ts";
import type { Store } from "../store/store.ts";
import type { Log } from "../telemetry/log/log.ts";
import type { Metrics } from "../telemetry/metrics/metrics.ts";
import type { CurrentConfiguration } from "./current-configuration.ts";

/** How long what servers list is collected before it is written. */
const WRITE_MS = 200;
/** How often approvals of other nodes are read, once this process has seen a tool. */
const READ_MS = 1000;
/** Limits the duration of a transaction, because it keeps other nodes from writing. */
const MAX_BATCH = 100;
/** Servers whose tools wait to be written. */
const MAX_PENDING = 1000;

interface Server {
  readonly id: string;
  readonly name: string;
}

interface KnownTool {
  readonly hash: string;
  readonly approvedHash: string;
}

interface KnownServer {
  readonly version: number;
  readonly tools: ReadonlyMap<string, KnownTool>;
}

interface PendingServer {
  readonly gatewayId: string;
  readonly name: string;
  readonly tools: Map<string, SeenDefinition>;
  /** The definition of each tool that this process saw first: approved until the store says otherwise. */
  readonly first: Map<string, SeenDefinition>;
}

export class StoredToolPins {
  readonly #store: Pick<Store, "mcpTools">;
  readonly #log: Log;
  readonly #clock: Clock;
  readonly #known = new Map<string, KnownServer>();
  readonly #pending = new Map<string, PendingServer>();
  #isLoaded = false;
  #timer: ClockTimer | null = null;
  #working: Promise<void> | null = null;
  /** Only the first failure of an outage is logged. */
  #isFailing = false;
  #isClosed = false;

  constructor(store: Pick<Store, "mcpTools">, log: Log, clock: Clock) {
    this.#store = store;
    this.#log = log;
    this.#clock = clock;
  }

  /** Reads the approved definitions, unless they are loaded. Rejects if the store is not available. */
  async load(): Promise<void> {
    if (!this.#isLoaded) await this.#read();
  }

  /** Reads approvals at once. Call it after an approval. */
  async refresh(): Promise<void> {
    await this.#working;
    await this.#read();
  }

  /** Takes note of the definitions that a server has listed. Returns at once. */
  observe(gatewayId: string, { id, name }: Server, tools: readonly SeenDefinition[]): void {
    const known = this.#known.get(id)?.tools;
    for (const tool of tools) {
      if (known?.get(tool.name)?.hash === tool.hash) continue;
      const pending = this.#pendingOf(gatewayId, id, name);
      if (pending === null) return;
      if (known?.has(tool.name) !== true && !pending.first.has(tool.name)) pending.first.set(tool.name, tool);
      pending.tools.set(tool.name, tool);
    }
    this.#schedule(this.#pending.size > 0 ? WRITE_MS : READ_MS);
  }

  /** Whether a tool with this definition differs from the approved one. Before the approved ones are known, every tool does. */
  isWithheld(_gatewayId: string, { id }: Pick<Server, "id">, name: string, hash: string): boolean {
    if (!this.#isLoaded) return true;
    const approved =
      this.#known.get(id)?.tools.get(name)?.approvedHash ?? this.#pending.get(id)?.first.get(name)?.hash;
    return approved !== undefined && approved !== hash;
  }

  /** What is known about a tool; null if no node has seen it. `id` is that of the server. */
  statusOf(id: string, name: string): "approved" | "changed" | null {
    const tool = this.#known.get(id)?.tools.get(name);
    if (tool !== undefined) return tool.hash === tool.approvedHash ? "approved" : "changed";
    return this.#pending.get(id)?.first.has(name) === true ? "approved" : null;
  }

  /** Returns the number of tools of a server whose definition differs from the approved one. */
  changedCount(id: string): number {
    let count = 0;
    for (const { hash, approvedHash } of this.#known.get(id)?.tools.values() ?? [])
      if (hash !== approvedHash) count++;
    return count;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#timer?.close();
    await this.#working;
    await this.#write().catch(() => undefined);
  }

  #pendingOf(gatewayId: string, id: string, name: string): PendingServer | null {
    const known = this.#pending.get(id);
    if (known !== undefined) return known;
    if (this.#pending.size >= MAX_PENDING) return null;
    const added = { gatewayId, name, tools: new Map(), first: new Map() };
    this.#pending.set(id, added);
    return added;
  }

  #schedule(delay: number): void {
    if (this.#timer !== null || this.#working !== null || this.#isClosed) return;
    this.#timer = this.#clock.setTimeout(() => {
      this.#timer = null;
      this.#working = this.#work().finally(() => {
        this.#working = null;
        this.#schedule(READ_MS);
      });
    }, delay);
    this.#timer.unref();
  }

  /** Does not reject: what could not be written or read is tried again. */
  async #work(): Promise<void> {
    try {
      await this.#write();
      await this.#read();
      this.#isFailing = false;
    } catch (error) {
      if (this.#isFailing) return;
      this.#isFailing = true;
      this.#log.warn({ err: toError(error) }, "tool definitions not exchanged with the store");
    }
  }

  async #write(): Promise<void> {
    for (const [id, pending] of [...this.#pending]) {
      const { tools, first } = pending;
      // The store approves the first definition that it gets. One that has changed since must not be the first.
      const changedSince = [...first.values()].filter(({ name, hash }) => tools.get(name)?.hash !== hash);
      await this.#record(id, pending, changedSince);
      await this.#record(id, pending, [...tools.values()]);
      await this.#readServer(id, null);
      for (const { name } of changedSince) first.delete(name);
      if (tools.size === 0) this.#pending.delete(id);
    }
  }

  async #record(
    id: string,
    { gatewayId, name, tools }: PendingServer,
    seen: readonly SeenDefinition[],
  ): Promise<void> {
    const at = new Date(this.#clock.unixNow()).toISOString();
    for (let start = 0; start < seen.length; start += MAX_BATCH) {
      const batch = seen.slice(start, start + MAX_BATCH);
      const changed = await this.#store.mcpTools.record(gatewayId, id, batch, at);
      for (const tool of batch) if (tools.get(tool.name) === tool) tools.delete(tool.name);
      for (const tool of changed)
        this.#log.warn({ gateway_id: gatewayId, mcp_server: name, tool }, "definition of tool changed");
    }
  }

  async #read(): Promise<void> {
    const versions = await this.#store.mcpTools.versions();
    for (const id of [...this.#known.keys()]) if (!versions.has(id)) this.#known.delete(id);
    for (const [id, version] of versions)
      if (this.#known.get(id)?.version !== version) await this.#readServer(id, version);
    this.#isLoaded = true;
  }

  /** `version` was read before the hashes, so that a change between both is read again. */
  async #readServer(id: string, version: number | null): Promise<void> {
    const hashes = await this.#store.mcpTools.hashes(id);
    if (hashes.length === 0) return;
    const tools = new Map(hashes.map(({ name, hash, approvedHash }) => [name, { hash, approvedHash }]));
    this.#known.set(id, { version: version ?? -1, tools });
  }
}

/** Sets the metric on each collection, so that deleted servers leave no series behind. */
export function collectToolPins(metrics: Metrics, pins: StoredToolPins, current: CurrentConfiguration): void {
  metrics.onCollect(() => {
    metrics.clear("gatehouse_mcp_changed_tools");
    for (const { gateway, parts } of current.snapshot.gateways.values())
      for (const { id, name, pin } of parts.mcp_servers) {
        if (pin === "off") continue;
        const state = pin === "hold" ? "withheld" : "changed";
        const labels = { gateway: gateway.name, server: name, state };
        metrics.set("gatehouse_mcp_changed_tools", labels, pins.changedCount(id));
      }
  });
}
