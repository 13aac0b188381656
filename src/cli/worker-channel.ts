// Messages between the workers of one supervisor, which forwards them from process to process.
import { newId } from "../base/ids.ts";
import type { Listening } from "../main.ts";
import type { Kept, Service, Siblings } from "../telemetry/siblings.ts";

/** The replies of workers that take longer are left out. */
const REPLY_TIMEOUT_MS = 1000;

/**
 * The supervisor handles "listening" and "heartbeat". It forwards a reply to the sender of its query, queries and published
 * messages to all but the sender. The replies to a query that `isKept` stay with the supervisor, which forwards only that they
 * have arrived and returns them all to "collect"; "merged" replaces those of ended workers.
 */
export type WorkerMessage =
  | { readonly kind: "listening"; readonly listening: Listening }
  | { readonly kind: "heartbeat" }
  | {
      readonly kind: "query";
      readonly id: string;
      readonly topic: string;
      readonly query: unknown;
      readonly isKept?: true;
    }
  | { readonly kind: "reply"; readonly id: string; readonly reply: unknown }
  | { readonly kind: "collect"; readonly id: string; readonly topic: string; readonly own: unknown }
  | { readonly kind: "merged"; readonly topic: string; readonly version: number; readonly reply: unknown }
  | { readonly kind: "publish"; readonly topic: string; readonly message: unknown };

interface PendingQuery {
  readonly replies: unknown[];
  missing: number;
  readonly done: () => void;
}

/** The channel of this worker to the `count - 1` others. */
export class WorkerChannel implements Siblings {
  readonly service = readService();
  readonly isFirst: boolean;
  readonly #others: number;
  readonly #pending = new Map<string, PendingQuery>();
  readonly #repliers = new Map<string, (query: unknown) => unknown>();
  readonly #listeners = new Map<string, (message: unknown) => void>();

  /** `number` is that of this worker, counted from 1. */
  constructor(number: number, count: number) {
    this.isFirst = number === 1;
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

  query(topic: string, query: unknown): Promise<unknown[]> {
    return this.#request({ kind: "query", id: newId(), topic, query }, this.#others);
  }

  async queryKept<T>(
    topic: string,
    own: () => Promise<T>,
    mergeEnded: (replies: T[]) => T,
  ): Promise<Kept<T>> {
    await this.#request({ kind: "query", id: newId(), topic, query: null, isKept: true }, this.#others);
    const reply = await own();
    const collected = await this.#request({ kind: "collect", id: newId(), topic, own: reply }, 1);
    // The supervisor replies with what workers of the same program have sent.
    const kept = collected[0] as { running: T[]; ended: T[]; version: number } | undefined;
    if (kept === undefined) return { own: reply, running: [], ended: null };
    const { running, ended, version } = kept;
    if (ended.length === 0) return { own: reply, running, ended: null };
    const merged = mergeEnded(ended);
    if (ended.length > 1 || merged !== ended[0]) send({ kind: "merged", topic, version, reply: merged });
    return { own: reply, running, ended: merged };
  }

  /** Resolves with `count` replies, or with those that have arrived in time. */
  async #request(message: WorkerMessage & { readonly id: string }, count: number): Promise<unknown[]> {
    const { promise, resolve } = Promise.withResolvers<undefined>();
    const pending: PendingQuery = { replies: [], missing: count, done: () => resolve(undefined) };
    this.#pending.set(message.id, pending);
    const timeout = setTimeout(pending.done, REPLY_TIMEOUT_MS);
    send(message);
    await promise;
    clearTimeout(timeout);
    this.#pending.delete(message.id);
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

const SERVICE_VARIABLE = "GATEHOUSE_SERVICE";

/** Returns the variables for the workers of a supervisor. */
export function serviceEnvironment(service: Service): Record<string, string> {
  return { [SERVICE_VARIABLE]: JSON.stringify(service) };
}

/** Only the supervisor sets the variable. */
function readService(): Service {
  return JSON.parse(process.env[SERVICE_VARIABLE] ?? "null") as Service;
}

function send(message: WorkerMessage): void {
  try {
    process.send?.(message);
  } catch {
    // The supervisor has just exited; the "disconnect" event stops this process.
  }
}
