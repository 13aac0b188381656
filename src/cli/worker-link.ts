// How workers of one supervisor speak with each other: through it, by messages between processes.
import { newId } from "../base/ids.ts";
import type { Listening } from "../main.ts";
import type { Siblings } from "../telemetry/siblings.ts";

/** A sibling that is busy for longer is left out of the answer. */
const ANSWER_MS = 1000;

/** The supervisor passes everything on that is not for itself: to one worker, or to all but the sender. */
export type WorkerMessage =
  | { readonly kind: "listening"; readonly listening: Listening }
  | { readonly kind: "ask"; readonly id: string; readonly topic: string; readonly question: unknown }
  | { readonly kind: "reply"; readonly id: string; readonly answer: unknown }
  | { readonly kind: "tell"; readonly topic: string; readonly message: unknown };

interface Asked {
  readonly answers: unknown[];
  left: number;
  readonly done: () => void;
}

/** Of this worker, one of `count`. */
export class WorkerLink implements Siblings {
  readonly #others: number;
  readonly #asked = new Map<string, Asked>();
  readonly #replies = new Map<string, (question: unknown) => unknown>();
  readonly #listeners = new Map<string, (message: unknown) => void>();

  constructor(count: number) {
    this.#others = count - 1;
    process.on("message", (message) => void this.#take(message as WorkerMessage));
    // Without its supervisor nobody would replace or end it.
    process.on("disconnect", () => process.kill(process.pid, "SIGTERM"));
  }

  reportListening(listening: Listening): void {
    send({ kind: "listening", listening });
  }

  async query(topic: string, question: unknown): Promise<unknown[]> {
    const { promise, resolve } = Promise.withResolvers<undefined>();
    const id = newId();
    const asked: Asked = { answers: [], left: this.#others, done: () => resolve(undefined) };
    this.#asked.set(id, asked);
    const deadline = setTimeout(asked.done, ANSWER_MS);
    send({ kind: "ask", id, topic, question });
    await promise;
    clearTimeout(deadline);
    this.#asked.delete(id);
    return asked.answers;
  }

  onQuery(topic: string, reply: (question: unknown) => unknown): void {
    this.#replies.set(topic, reply);
  }

  publish(topic: string, message: unknown): void {
    send({ kind: "tell", topic, message });
  }

  subscribe(topic: string, listener: (message: unknown) => void): void {
    this.#listeners.set(topic, listener);
  }

  async #take(message: WorkerMessage): Promise<void> {
    if (message.kind === "tell") this.#listeners.get(message.topic)?.(message.message);
    else if (message.kind === "reply") {
      const asked = this.#asked.get(message.id);
      if (asked === undefined) return;
      asked.answers.push(message.answer);
      if (--asked.left === 0) asked.done();
    } else if (message.kind === "ask") {
      const answer = await this.#replies.get(message.topic)?.(message.question);
      if (answer !== undefined) send({ kind: "reply", id: message.id, answer });
    }
  }
}

/** A supervisor that has just gone ends this process by itself. */
function send(message: WorkerMessage): void {
  try {
    process.send?.(message);
  } catch {
    // See "disconnect".
  }
}
