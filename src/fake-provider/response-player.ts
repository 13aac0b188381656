// Plays one planned answer on one socket: joins small writes, waits for room when the kernel has none,
// and gives the event loop its turn during long answers.
import type { Step } from "./response-plan.ts";
import type { ReceivedRequest } from "./recorded-request.ts";

/** The part of Bun's TCP socket that is used; `write` takes what fits and says how much that was. */
export interface RawSocket {
  write(bytes: Uint8Array): number;
  end(): void;
  terminate(): void;
}

const JOIN_BYTES = 1 << 16;
const TURN_BYTES = 1 << 20;

export class ResponsePlayer {
  #unsent: Uint8Array | null = null;
  /** What the plan wants once the unsent bytes are out. */
  #after: Exclude<Step, Uint8Array> | null = null;
  #timer: Timer | null = null;
  #over = false;
  #bytesThisTurn = 0;

  constructor(
    private readonly socket: RawSocket,
    private readonly plan: Iterator<Step>,
    private readonly request: ReceivedRequest,
    /** "cut" comes before the socket is closed, so that the close is not taken for the peer's. */
    private readonly onEnd: (how: "complete" | "cut") => void,
  ) {}

  /** Goes on as far as possible: at the start, after each wait, and when the kernel has room again. */
  play(): void {
    this.#bytesThisTurn = 0;
    while (!this.#over) {
      if (this.#unsent === null && this.#after === null && !this.#gather()) {
        this.#over = true;
        this.onEnd("complete");
        return;
      }
      if (this.#unsent !== null && !this.#send()) return;
      if (this.#after !== null && this.#unsent === null && !this.#act(this.#after)) return;
    }
  }

  /** Only an answer that is held up by a full kernel buffer goes on with room; a waiting one keeps waiting. */
  drained(): void {
    if (this.#unsent !== null && this.#timer === null) this.play();
  }

  abandon(): void {
    this.#over = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    this.#unsent = null;
    this.plan.return?.();
  }

  /** Takes steps from the plan until there is enough to write or something else to do; false at its end. */
  #gather(): boolean {
    const pieces: Uint8Array[] = [];
    let size = 0;
    while (size < JOIN_BYTES) {
      const next = this.plan.next();
      if (next.done === true) break;
      if (!(next.value instanceof Uint8Array)) {
        this.#after = next.value;
        break;
      }
      if (next.value.length === 0) continue;
      pieces.push(next.value);
      size += next.value.length;
    }
    const [only = null] = pieces;
    this.#unsent = pieces.length > 1 ? Buffer.concat(pieces, size) : only;
    return this.#unsent !== null || this.#after !== null;
  }

  /** True when all was taken and this turn may go on. */
  #send(): boolean {
    const bytes = this.#unsent;
    if (bytes === null) return true;
    const taken = this.socket.write(bytes);
    // Negative when the peer has gone; the close event, already under way, does the rest.
    if (taken < 0 || this.#over) return false;
    this.request.bytesSent += taken;
    this.#unsent = taken === bytes.length ? null : bytes.subarray(taken);
    if (this.#unsent !== null) return false;
    this.#bytesThisTurn += taken;
    if (this.#bytesThisTurn < TURN_BYTES) return true;
    this.#resumeIn(0);
    return false;
  }

  /** True when the plan goes on at once. */
  #act(step: Exclude<Step, Uint8Array>): boolean {
    switch (step.kind) {
      case "wait":
        this.#after = null;
        this.#resumeIn(step.ms);
        return false;
      case "stall":
        return false;
      case "close":
        this.abandon();
        this.onEnd("cut");
        if (step.reset) this.socket.terminate();
        else this.socket.end();
        return false;
    }
  }

  #resumeIn(ms: number): void {
    this.#timer = setTimeout(() => {
      this.#timer = null;
      this.play();
    }, ms);
  }
}
