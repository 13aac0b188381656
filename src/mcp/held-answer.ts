// Counts the memory of an answer of an MCP server that is not complete or not parsed yet in MAX_BUFFERED_BYTES, by the rules for bodies of
// clients: an answer that stalls loses its memory to others.
import type { Clock } from "../base/clock.ts";
import { SMALL_BODY_BYTES, type ArrivingBody, type BodyBudget } from "../http/body-budget.ts";
import type { BodyReader } from "../http/body-reader.ts";
import { RpcError } from "./json-rpc.ts";
import { RPC } from "./protocol.ts";

const NO_ROOM =
  "The answer of the MCP server does not fit into memory: bodies have reached MAX_BUFFERED_BYTES. Retry later.";

export class HeldAnswer implements ArrivingBody {
  progressAt = 0;
  readonly #budget: BodyBudget;
  readonly #clock: Clock;
  readonly #reader: BodyReader;
  #counted = 0;
  #error: RpcError | null = null;

  constructor(reader: BodyReader, budget: BodyBudget, clock: Clock) {
    this.#reader = reader;
    this.#budget = budget;
    this.#clock = clock;
  }

  /** The answer now takes this much memory. Throws an RpcError, and stops the server, if there is no room. */
  hold(bytes: number): void {
    // A connection buffers as much as this for every reader.
    const size = bytes <= SMALL_BODY_BYTES ? 0 : bytes;
    if (this.#error !== null) throw this.#error;
    if (size === this.#counted) return;
    if (size < this.#counted) {
      this.#budget.release(this.#counted - size);
      this.#counted = size;
      if (size === 0) this.#budget.ended(this);
      return;
    }
    this.progressAt = this.#clock.now();
    try {
      this.#budget.takeLarge(this, size - this.#counted);
    } catch {
      throw this.#stop();
    }
    this.#counted = size;
    this.#budget.progressed(this);
  }

  /** Call when the answer is parsed or has failed. */
  release(): void {
    this.#budget.ended(this);
    this.#budget.release(this.#counted);
    this.#counted = 0;
  }

  /** Returns the error for which the answer was stopped; `error` if it was not. */
  reasonOf(error: unknown): unknown {
    return this.#error ?? error;
  }

  refuse(): void {
    this.#stop();
  }

  /** Returns a reader of the whole answer, which counts what it reads. */
  countedReader(): BodyReader {
    const reader = this.#reader;
    let size = 0;
    return {
      next: async () => {
        const bytes = await reader.next();
        size += bytes?.byteLength ?? 0;
        this.hold(size);
        return bytes;
      },
      peek: () => reader.peek(),
      cancel: () => reader.cancel(),
    };
  }

  #stop(): RpcError {
    this.release();
    this.#error = new RpcError(RPC.internalError, NO_ROOM, { httpStatus: 503 });
    this.#reader.cancel();
    return this.#error;
  }
}
