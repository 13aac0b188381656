// Definitions of the tools of one server that wait to be written to the store, within bounds: servers decide what they list.
import type { ListedTools, SeenTool } from "../mcp/tool-pins.ts";
import { isOldHash, isSameBesideMeta } from "../model/definition-hash.ts";
import type { SeenDefinition } from "../store/mcp-tool-rows.ts";
import { isStorableName, MAX_TOOLS } from "../store/sql-mcp-tools.ts";

/** Memory of the lists of one server whose definitions wait, and of those of all servers. */
const MAX_SERVER_BYTES = 32 * 1024 * 1024;
const MAX_BYTES = 128 * 1024 * 1024;
/** Memory of a list beside its items. */
const LIST_BYTES = 4096;

export interface PinnedServer {
  readonly id: string;
  readonly name: string;
  readonly pin: "off" | "warn" | "hold";
}

/** A tool that the store has. */
export interface KnownTool {
  readonly hash: string;
  readonly approvedHash: string;
}

type KnownTools = ReadonlyMap<string, KnownTool>;

export class PendingTools {
  readonly gatewayId: string;
  readonly server: PinnedServer;
  /** The definition of each tool that was seen last. */
  readonly #last = new Map<string, SeenDefinition>();
  /**
   * The first definition of each tool that the store did not have; null once it is written. Such a tool is approved until the store says
   * otherwise, unless `pin` is `hold`.
   */
  readonly #first = new Map<string, SeenDefinition | null>();
  /** Lists whose definitions wait: a tool of a large page keeps the whole page. */
  readonly #lists = new Set<ListedTools>();
  #memory = 0;

  constructor(gatewayId: string, server: PinnedServer) {
    this.gatewayId = gatewayId;
    this.server = server;
  }

  get isEmpty(): boolean {
    return this.#last.size === 0;
  }

  /** Bytes of the lists whose definitions wait. */
  get memory(): number {
    return this.#memory;
  }

  get lists(): ListedTools[] {
    return [...this.#lists];
  }

  /** The first definitions that are not written, of tools that have changed since: the store approves the first one that it gets. */
  get changedSince(): SeenDefinition[] {
    const first = this.#first.values().filter((tool) => tool !== null);
    return first.filter(({ name, hash }) => this.#last.get(name)?.hash !== hash).toArray();
  }

  get last(): SeenDefinition[] {
    return [...this.#last.values()];
  }

  /** Whether the store did not have the tool when this process saw it. */
  isNew(name: string): boolean {
    return this.#first.has(name);
  }

  /**
   * Adds tools of a list that the store has to get. `otherMemory` is that of other servers. Of lists that do not fit, only hashes are
   * kept: changes are still found, and the store has no text to show.
   */
  add(wanted: readonly SeenTool[], list: ListedTools, known: KnownTools, otherMemory: number): void {
    const memory = this.#memory + list.memory + LIST_BYTES;
    const fits = memory <= MAX_SERVER_BYTES && otherMemory + memory <= MAX_BYTES;
    const isKept = fits || this.#lists.has(list);
    for (const tool of wanted) {
      const { name, hash } = tool;
      const waiting = this.#last.get(name);
      if (waiting !== undefined && isSame(waiting.hash, hash, this.server)) continue;
      const seen = isKept ? tool : { name, hash, definition: "" };
      if (!known.has(name) && !this.#first.has(name)) {
        // The store would not take it either.
        if (known.size + this.#first.size >= MAX_TOOLS) continue;
        this.#first.set(name, seen);
      }
      this.#last.set(name, seen);
      if (isKept) this.#hold(list);
    }
  }

  /** The store has these definitions. */
  written(batch: readonly SeenDefinition[]): void {
    for (const tool of batch) {
      if (this.#last.get(tool.name) === tool) this.#last.delete(tool.name);
      if (this.#first.has(tool.name)) this.#first.set(tool.name, null);
    }
  }

  /** Everything that waited when there were only these lists is written, and read from the store. */
  settle(lists: readonly ListedTools[]): void {
    for (const list of lists) if (this.#lists.delete(list)) this.#memory -= list.memory + LIST_BYTES;
    for (const [name, tool] of this.#first) if (tool === null) this.#first.delete(name);
  }

  #hold(list: ListedTools): void {
    if (this.#lists.has(list)) return;
    this.#lists.add(list);
    this.#memory += list.memory + LIST_BYTES;
  }
}

/** Returns the tools that the store has to get. */
export function toWrite(tools: readonly SeenTool[], known: KnownTools, server: PinnedServer): SeenTool[] {
  return tools.filter(({ name, hash }) => {
    const stored = known.get(name);
    if (stored !== undefined) return !isSame(stored.hash, hash, server);
    return known.size < MAX_TOOLS && isStorableName(name);
  });
}

/**
 * Whether the store needs no other hash. Changes of `_meta` alone are not reported with `warn`: some servers
 * put times there.
 */
function isSame(stored: string, hash: string, { pin }: PinnedServer): boolean {
  return stored === hash || (pin !== "hold" && !isOldHash(stored) && isSameBesideMeta(stored, hash));
}
