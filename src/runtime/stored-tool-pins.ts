// Pinned definitions of tools: which ones are approved, kept in memory for requests, and in the store for all nodes. What servers
// list is written there a little later, except for the first list of a server with `pin: hold`: nothing is
// offered before it is stored.
import type { Clock, ClockTimer } from "../base/clock.ts";
import { toError } from "../base/to-error.ts";
import { nextTurn } from "../base/yield-turns.ts";
import type { ListedTools, SeenTool, ToolPins, ToolStatus } from "../mcp/tool-pins.ts";
import { isSameDefinition } from "../model/definition-hash.ts";
import type { SeenDefinition } from "../store/mcp-tool-rows.ts";
import { isStorableName, type NewTools } from "../store/sql-mcp-tools.ts";
import type { Store } from "../store/store.ts";
import type { Log } from "../telemetry/log/log.ts";
import { PendingTools, toWrite, type KnownTool, type PinnedServer } from "./pending-tools.ts";
import { lookalikesIn, type NamedTool } from "./tool-lookalikes.ts";

/** How long what servers list is collected before it is written. */
const WRITE_MS = 200;
/** How often approvals of other nodes are read, once this process has seen a tool. */
const READ_MS = 1000;
/** A transaction keeps other nodes from writing. The embedded database runs it in one turn of the event loop: at most 2.5 MB. */
const MAX_BATCH = 20;
/** Servers whose tools wait to be written. */
const MAX_PENDING = 1000;

interface KnownServer {
  readonly gatewayId: string;
  readonly version: number;
  readonly tools: ReadonlyMap<string, KnownTool>;
}

const NO_TOOLS: ReadonlyMap<string, KnownTool> = new Map();

export class StoredToolPins implements ToolPins {
  readonly #store: Pick<Store, "mcpTools">;
  readonly #log: Log;
  readonly #clock: Clock;
  readonly #known = new Map<string, KnownServer>();
  readonly #pending = new Map<string, PendingTools>();
  /** First lists that are being recorded, by server. */
  readonly #contacts = new Map<string, Promise<void>>();
  /** One after the other, because names of one first list may look like those of another one. */
  #lastContact = Promise.resolve();
  #isLoaded = false;
  #timer: ClockTimer | null = null;
  #working: Promise<void> | null = null;
  /** Only the first failure of an outage is logged. */
  #isFailing = false;
  /** A first list is not recorded before this time of the clock. */
  #retryAt = 0;
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

  observe(gatewayId: string, server: PinnedServer, list: ListedTools): Promise<void> | void {
    const known = this.#known.get(server.id)?.tools;
    if (server.pin === "hold" && known === undefined) return this.#meet(gatewayId, server, list);
    const wanted = toWrite(list.tools, known ?? NO_TOOLS, server);
    const pending = wanted.length === 0 ? null : this.#pendingOf(gatewayId, server);
    pending?.add(wanted, list, known ?? NO_TOOLS, this.#memoryBeside(pending));
    this.#schedule(this.#pending.size > 0 ? WRITE_MS : READ_MS);
  }

  isWithheld({ id, pin }: Pick<PinnedServer, "id" | "pin">, name: string, hash: string): boolean {
    if (pin !== "hold") return false;
    const tool = this.#known.get(id)?.tools.get(name);
    return tool === undefined || !isSameDefinition(tool.approvedHash, hash);
  }

  statusOf(id: string, name: string): ToolStatus | null {
    const tool = this.#known.get(id)?.tools.get(name);
    if (tool === undefined) return this.#pending.get(id)?.isNew(name) === true ? "approved" : null;
    if (tool.approvedHash === "") return "new";
    return tool.hash === tool.approvedHash ? "approved" : "changed";
  }

  /** Returns the number of tools of a server whose definition differs from the approved one, or has none. */
  changedCount(id: string): number {
    let count = 0;
    for (const { hash, approvedHash } of this.#known.get(id)?.tools.values() ?? [])
      if (hash !== approvedHash) count++;
    return count;
  }

  /**
   * Returns the tools of a server that were never approved and look like another tool of the gateway: the
   * other one, if it is known.
   */
  lookalikes(id: string): ReadonlyMap<string, NamedTool | null> {
    const server = this.#known.get(id);
    if (server === undefined) return new Map();
    const names = [...server.tools].flatMap(([name, { approvedHash }]) =>
      approvedHash === "" ? [name] : [],
    );
    return names.length === 0 ? new Map() : lookalikesIn(id, names, this.#namesIn(server.gatewayId));
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#timer?.close();
    await Promise.all([this.#working, ...this.#contacts.values()]);
    await this.#write().catch(() => undefined);
  }

  /**
   * Records the first list that this process gets from a server with `pin: hold`. It is the first of all
   * nodes, or none.
   */
  #meet(gatewayId: string, server: PinnedServer, list: ListedTools): Promise<void> | void {
    const storable = list.tools.filter(({ name }) => isStorableName(name));
    // A server without tools may just be starting. Nothing is offered, so that nothing has to be compared.
    if (storable.length === 0 || this.#clock.now() < this.#retryAt) return;
    const running = this.#contacts.get(server.id);
    if (running !== undefined) return running.then(() => this.observe(gatewayId, server, list));
    const contact = this.#lastContact
      .then(() => this.#recordFirst(gatewayId, server, storable))
      .finally(() => this.#contacts.delete(server.id));
    this.#lastContact = contact;
    this.#contacts.set(server.id, contact);
    return contact;
  }

  /** Does not reject: without the store, no tool is offered. */
  async #recordFirst(gatewayId: string, server: PinnedServer, tools: readonly SeenTool[]): Promise<void> {
    try {
      await this.#read();
      const names = tools.map(({ name }) => name);
      const lookalikes = lookalikesIn(server.id, names, this.#namesIn(gatewayId));
      const seen = tools.map((tool) => {
        const { name, hash } = tool;
        return {
          name,
          hash,
          isLookalike: lookalikes.has(name),
          // Read when it is written: definitions of large lists are converted from bytes.
          get definition() {
            return tool.definition;
          },
        };
      });
      await this.#record(new PendingTools(gatewayId, server), seen, "first");
      await this.#readServer(server.id, gatewayId, null);
      this.#isFailing = false;
    } catch (error) {
      this.#retryAt = this.#clock.now() + READ_MS;
      this.#logFailure(error);
    }
    this.#schedule(READ_MS);
  }

  #namesIn(gatewayId: string): NamedTool[] {
    const found: NamedTool[] = [];
    for (const [serverId, server] of this.#known)
      if (server.gatewayId === gatewayId)
        for (const name of server.tools.keys()) found.push({ serverId, name });
    return found;
  }

  #pendingOf(gatewayId: string, server: PinnedServer): PendingTools | null {
    const known = this.#pending.get(server.id);
    if (known !== undefined) return known;
    if (this.#pending.size >= MAX_PENDING) return null;
    const added = new PendingTools(gatewayId, server);
    this.#pending.set(server.id, added);
    return added;
  }

  #memoryBeside(one: PendingTools): number {
    let total = -one.memory;
    for (const pending of this.#pending.values()) total += pending.memory;
    return total;
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
      this.#logFailure(error);
    }
  }

  #logFailure(error: unknown): void {
    if (this.#isFailing) return;
    this.#isFailing = true;
    this.#log.warn({ err: toError(error) }, "tool definitions not exchanged with the store");
  }

  async #write(): Promise<void> {
    for (const [id, pending] of [...this.#pending]) {
      const { gatewayId, server, lists, changedSince, last } = pending;
      const newTools = server.pin === "hold" ? "hold" : "approve";
      await this.#record(pending, changedSince, newTools);
      await this.#record(pending, last, newTools);
      await this.#readServer(id, gatewayId, null);
      pending.settle(lists);
      if (pending.isEmpty) this.#pending.delete(id);
    }
  }

  async #record(pending: PendingTools, seen: readonly SeenDefinition[], newTools: NewTools): Promise<void> {
    const { gatewayId, server } = pending;
    const { id, name } = server;
    const at = new Date(this.#clock.unixNow()).toISOString();
    let mode = newTools;
    for (let start = 0; start < seen.length; start += MAX_BATCH) {
      await nextTurn();
      const batch = seen.slice(start, start + MAX_BATCH);
      const { changed, held, isFirst } = await this.#store.mcpTools.record(gatewayId, id, batch, at, mode);
      if (mode === "first") mode = isFirst ? "rest_of_first" : "hold";
      pending.written(batch);
      for (const tool of changed)
        this.#log.warn({ gateway_id: gatewayId, mcp_server: name, tool }, "definition of tool changed");
      for (const tool of held)
        this.#log.warn({ gateway_id: gatewayId, mcp_server: name, tool }, "new tool withheld");
    }
  }

  async #read(): Promise<void> {
    const versions = await this.#store.mcpTools.versions();
    for (const id of [...this.#known.keys()]) if (!versions.has(id)) this.#known.delete(id);
    for (const [id, { gatewayId, version }] of versions)
      if (this.#known.get(id)?.version !== version) await this.#readServer(id, gatewayId, version);
    this.#isLoaded = true;
  }

  /** `version` was read before the hashes, so that a change between both is read again. */
  async #readServer(id: string, gatewayId: string, version: number | null): Promise<void> {
    const hashes = await this.#store.mcpTools.hashes(id);
    if (hashes.length === 0) return;
    const tools = new Map(hashes.map(({ name, hash, approvedHash }) => [name, { hash, approvedHash }]));
    this.#known.set(id, { gatewayId, version: version ?? -1, tools });
  }
}
