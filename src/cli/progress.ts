// The progress of a command: one line on standard error that is rewritten in place and cleared at the end. Nothing is printed if
// standard error is not a terminal, or one that cannot clear a line.
import { systemClock, type Clock, type ClockTimer } from "../base/clock.ts";

type Stream = Pick<NodeJS.WriteStream, "isTTY" | "write" | "columns">;

const CLEAR = "\r\x1b[K";
const BAR_WIDTH = 24;
/** The line is redrawn at most once in this time. */
const REDRAW_MS = 100;
/** Most work takes less, and its line would only flicker. */
const WAITING_DELAY_MS = 500;

export class Progress {
  readonly #stream: Stream;
  readonly #clock: Clock;
  /** The text to show; empty if there is none. */
  #text = "";
  #isDrawn = false;
  #drawnAt = -Infinity;
  #redraw: ClockTimer | null = null;

  constructor(stream: Stream = process.stderr, clock: Clock = systemClock) {
    this.#stream = stream;
    this.#clock = clock;
  }

  /** Shows a bar. `fraction` is from 0 to 1. */
  show(label: string, fraction: number): void {
    const full = Math.round(Math.min(1, Math.max(0, fraction)) * BAR_WIDTH);
    this.#show(`${"█".repeat(full)}${"░".repeat(BAR_WIDTH - full)} ${label}`);
  }

  /** Runs `work`, which takes about `ms` milliseconds, and moves the bar from `from` to `to` meanwhile. */
  async during<T>(label: string, from: number, to: number, ms: number, work: () => Promise<T>): Promise<T> {
    const startedAt = this.#clock.now();
    const tick = () =>
      this.show(label, from + (to - from) * Math.min(1, (this.#clock.now() - startedAt) / ms));
    tick();
    const timer = this.#clock.setInterval(tick, REDRAW_MS);
    try {
      return await work();
    } finally {
      timer.close();
    }
  }

  /** Runs `work`, shows the elapsed time if it takes long, and clears the line. */
  async waiting<T>(label: string, work: () => Promise<T>): Promise<T> {
    const startedAt = this.#clock.now();
    const tick = () => {
      const seconds = Math.floor((this.#clock.now() - startedAt) / 1000);
      this.#show(`${label} …${seconds > 0 ? ` ${seconds} s` : ""}`);
    };
    const timer = this.#clock.setInterval(tick, WAITING_DELAY_MS);
    try {
      return await work();
    } finally {
      timer.close();
      this.end();
    }
  }

  end(): void {
    this.#text = "";
    this.#redraw?.close();
    this.#redraw = null;
    if (this.#isDrawn) this.#stream.write(CLEAR);
    this.#isDrawn = false;
  }

  #show(text: string): void {
    if (!this.#stream.isTTY || process.env["TERM"] === "dumb") return;
    this.#text = text;
    if (this.#redraw !== null) return;
    const remainingMs = this.#drawnAt + REDRAW_MS - this.#clock.now();
    if (remainingMs <= 0) this.#draw();
    else
      this.#redraw = this.#clock.setTimeout(() => {
        this.#redraw = null;
        this.#draw();
      }, remainingMs);
  }

  #draw(): void {
    // A line that is longer than the terminal is wide would continue on a second one, which is not cleared.
    const width = (this.#stream.columns || 80) - 1;
    let text = this.#text;
    while (Bun.stringWidth(text) > width) text = text.slice(0, -1);
    this.#stream.write(CLEAR + text);
    this.#isDrawn = true;
    this.#drawnAt = this.#clock.now();
  }
}
