// Messages between the worker processes that share the listeners. A client may reach any worker and expects the data of all.

export interface Kept<T> {
  readonly own: T;
  readonly running: readonly T[];
  /** Null if no worker has ended. */
  readonly ended: T | null;
}

/** The service that the worker processes form: to a collector they are one. */
export interface Service {
  readonly instanceId: string;
  /** Unix milliseconds. */
  readonly startedAt: number;
}

export interface Siblings {
  readonly service: Service;
  /** Exactly one of the workers is the first, which does what must be done once. */
  readonly isFirst: boolean;
  /** Resolves with the replies of the other workers. Workers that do not reply in time are left out. */
  query(topic: string, query: unknown): Promise<unknown[]>;
  /**
   * Resolves with the last known replies of the other workers, also of those that are silent or have ended. `own` is what this
   * worker would reply; it is kept for the others. `mergeEnded` merges the replies of ended workers into one, which replaces
   * them.
   */
  queryKept<T>(topic: string, own: () => Promise<T>, mergeEnded: (replies: T[]) => T): Promise<Kept<T>>;
  /** Registers how this worker replies to queries on a topic. */
  onQuery(topic: string, reply: (query: unknown) => unknown): void;
  /** Sends a message to the other workers without waiting for a reply. */
  publish(topic: string, message: unknown): void;
  subscribe(topic: string, listener: (message: unknown) => void): void;
}

export function newService(): Service {
  return { instanceId: crypto.randomUUID(), startedAt: Date.now() - process.uptime() * 1000 };
}

/** For a process that is the only worker. */
export const ALONE: Siblings = {
  service: newService(),
  isFirst: true,
  query: () => Promise.resolve([]),
  queryKept: async (_, own) => ({ own: await own(), running: [], ended: null }),
  onQuery: () => undefined,
  publish: () => undefined,
  subscribe: () => undefined,
};
