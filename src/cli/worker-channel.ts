// Messages between the workers of one supervisor, which forwards them from process to process.
import { newId } from "../base/ids.ts";
import type { Listening } from "../main.ts";
import type { Siblings } from "../telemetry/siblings.ts";

/** The replies of workers that take longer are left out. */
const REPLY_TIMEOUT_MS = 1000;

/**
 * The supervisor handles "listening" and "heartbeat" and forwards the rest: a reply to the sender of its query, others to all
 * but the sender.
 */
export type WorkerMessage =
  | { readonly kind: "listening"; readonly listening: Listening }
  | { readonly kind: "heartbeat" }
  | { readonly kind: "query"; readonly id: string; readonly topic: string; readonly query: unknown }
  | { readonly kind: "reply"; readonly id: string; readonly reply: unknown }
  | { readonly kind: "publish"; readonly topic: string; readonly message: unknown };

interface PendingQuery {
  readonly replies: unknown[];
  missing: number;
  readonly done: () => void;
}

/** The channel of this worker to the `count - 1` others. */
export class WorkerChannel implements Siblings {
  readonly #others: number;
  readonly #pending = new Map<string, PendingQuery>();
  readonly #repliers = new Map<string, (query: unknown) => unknown>();
  readonly #listeners = new Map<string, (message: unknown) => void>();

  constructor(count: number) {
    this.#others = count - 1;
    // Only the supervisor sends messages to this process.
    process.on("message", (message) => void this.#receive(message as WorkerMessage));
    // Without its supervisor, a worker would never be stopped or replaced.
    process.on("disconnect", () => process.kill(process.pid, "SIGTERM"));
  }

  reportListening(listening: Listening): void {
    send({ kind: "listening", listening });
  }

  reportHeartbeat(): void {
    send({ kind: "heartbeat" });
  }

  async query(topic: string, query: unknown): Promise<unknown[]> {
    const { promise, resolve } = Promise.withResolvers<undefined>();
    const id = newId();
    const pending: PendingQuery = {
      replies: [],
      missing: this.#others,
      done: () => resolve(undefined),
    };
    this.#pending.set(id, pending);
    const timeout = setTimeout(pending.done, REPLY_TIMEOUT_MS);
    send({ kind: "query", id, topic, query });
    await promise;
    clearTimeout(timeout);
    this.#pending.delete(id);
    return pending.replies;
  }

  onQuery(topic: string, reply: (query: unknown) => unknown): void {
    this.#repliers.set(topic, reply);
  }

  publish(topic: string, message: unknown): void {
    send({ kind: "publish", topic, message });
  }

  subscribe(topic: string, listener: (message: unknown) => void): void {
    this.#listeners.set(topic, listener);
  }

  async #receive(message: WorkerMessage): Promise<void> {
    if (message.kind === "publish") this.#listeners.get(message.topic)?.(message.message);
    else if (message.kind === "reply") {
      const pending = this.#pending.get(message.id);
      if (pending === undefined) return;
      pending.replies.push(message.reply);
      if (--pending.missing === 0) pending.done();
    } else if (message.kind === "query") {
      const reply = await this.#repliers.get(message.topic)?.(message.query);
      if (reply !== undefined) send({ kind: "reply", id: message.id, reply });
    }
  }
}

function send(message: WorkerMessage): void {
  try {
    process.send?.(message);
  } catch {
    // The supervisor has just exited; the "disconnect" event stops this process.
  }
}
