// Executes the plan of one response on one socket: joins small writes, waits for "drain" if the kernel's buffer is full,
// and yields to the event loop during long responses.
import { systemClock, type Clock, type ClockTimer } from "../base/clock.ts";
import type { Step } from "./response-plan.ts";
import type { ReceivedRequest } from "./recorded-request.ts";

/** The part of Bun's TCP socket that is used. `write` accepts what fits and returns the number of accepted bytes. */
export interface RawSocket {
  write(bytes: Uint8Array): number;
  end(): void;
  terminate(): void;
}

const JOIN_BYTES = 1 << 16;
const TURN_BYTES = 1 << 20;
const FLUSH_MS = 5;

export class ResponsePlayer {
  #unsent: Uint8Array | null = null;
  /** The step to execute once the unsent bytes are written. */
  #after: Exclude<Step, Uint8Array> | null = null;
  #timer: ClockTimer | null = null;
  #over = false;
  #bytesThisTurn = 0;

  constructor(
    private readonly socket: RawSocket,
    private readonly plan: Iterator<Step>,
    private readonly request: ReceivedRequest,
    private readonly clock: Clock,
    /** Called with "cut" before the socket is closed, so that the close is not attributed to the peer. */
    private readonly onEnd: (how: "complete" | "cut") => void,
  ) {}

  /** Executes the plan as far as possible: at the start, after each wait, and after "drain". */
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

  /** Continues a response that a full kernel buffer has stopped; a response in a "wait" step keeps waiting. */
  drained(): void {
    if (this.#unsent !== null && this.#timer === null) this.play();
  }

  abandon(): void {
    this.#over = true;
    this.#timer?.close();
    this.#timer = null;
    this.#unsent = null;
    this.plan.return?.();
  }

  /** Takes steps from the plan until there are enough bytes to write or another kind of step; returns false at its end. */
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

  /** Returns true if all bytes were accepted and this turn may continue. */
  #send(): boolean {
    const bytes = this.#unsent;
    if (bytes === null) return true;
    const taken = this.socket.write(bytes);
    // Negative if the peer has disconnected; the pending close event cleans up.
    if (taken < 0 || this.#over) return false;
    this.request.bytesSent += taken;
    this.#unsent = taken === bytes.length ? null : bytes.subarray(taken);
    if (this.#unsent !== null) return false;
    this.#bytesThisTurn += taken;
    if (this.#bytesThisTurn < TURN_BYTES) return true;
    this.#resumeIn(0, systemClock);
    return false;
  }

  /** Returns true if the next step may follow immediately. */
  #act(step: Exclude<Step, Uint8Array>): boolean {
    switch (step.kind) {
      case "wait":
        this.#after = null;
        // A wait of 0 ms only yields to the event loop, which needs no time to pass.
        this.#resumeIn(step.ms, step.ms === 0 ? systemClock : this.clock);
        return false;
      case "flush":
        this.#after = null;
        this.#resumeIn(FLUSH_MS, systemClock);
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

  #resumeIn(ms: number, clock: Clock): void {
    this.#timer = clock.setTimeout(() => {
      this.#timer = null;
      this.play();
    }, ms);
  }
}
