// Messages between the worker processes that share the listeners. A client may reach any worker and expects the data of all.

export interface Siblings {
  /** Resolves with the replies of the other workers. Workers that do not reply in time are left out. */
  query(topic: string, query: unknown): Promise<unknown[]>;
  /** Registers how this worker replies to queries on a topic. */
  onQuery(topic: string, reply: (query: unknown) => unknown): void;
  /** Sends a message to the other workers without waiting for a reply. */
  publish(topic: string, message: unknown): void;
  subscribe(topic: string, listener: (message: unknown) => void): void;
}

/** For a process that is the only worker. */
export const ALONE: Siblings = {
  query: () => Promise.resolve([]),
  onQuery: () => undefined,
  publish: () => undefined,
  subscribe: () => undefined,
};
