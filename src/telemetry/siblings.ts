// The processes that share this one's listeners. Whoever asks the service something may reach any of them, and means all.

export interface Siblings {
  /** What the others answer; those that do not in time are left out. */
  ask(topic: string, question: unknown): Promise<unknown[]>;
  /** How this process answers when another asks. */
  answer(topic: string, reply: (question: unknown) => unknown): void;
  /** Tells the others something; nobody answers. */
  tell(topic: string, message: unknown): void;
  hear(topic: string, listener: (message: unknown) => void): void;
}

/** There are none. */
export const ALONE: Siblings = {
  ask: () => Promise.resolve([]),
  answer: () => undefined,
  tell: () => undefined,
  hear: () => undefined,
};
