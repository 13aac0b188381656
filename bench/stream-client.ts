// Opens many concurrent streams over raw sockets. To be cheap, it only searches the received bytes for timestamps.
import { DONE, STAMP_DIGITS, STAMP_MARK, wallMicroseconds } from "./stream-events.ts";

const MARK = STAMP_MARK.charCodeAt(0);
const ZERO = 0x30;
/** Streams opened at the same time. With more, the time to the first event would include waiting for each other. */
const MAX_OPENING = 1;
const OPEN_DEADLINE_MS = 60_000;
const END_DEADLINE_MS = 15_000;

interface StreamState {
  requestedAt: number;
  isOpen: boolean;
  isComplete: boolean;
  isClosed: boolean;
  /** The last received bytes, in case the end of the stream is split over two reads. */
  tail: string;
}

export class StreamClient {
  /** Milliseconds from the request to the first event, one per stream. */
  readonly firstEvents: number[] = [];
  /** Milliseconds from sending at the provider to receiving, one per event, recorded while `isMeasuring`. */
  delays: number[] = [];
  isMeasuring = false;
  events = 0;
  /** Streams that were closed before their end. */
  aborted = 0;
  /** Streams whose end did not arrive before the deadline. */
  unfinished = 0;
  readonly #sockets: Bun.Socket<StreamState>[] = [];
  #isEnding = false;
  #isOver = false;
  #opening = 0;

  constructor(
    readonly host: string,
    readonly port: number,
    readonly request: string,
  ) {}

  async open(streams: number): Promise<void> {
    const deadline = performance.now() + OPEN_DEADLINE_MS;
    for (let index = 0; index < streams; index++) {
      while (this.#opening >= MAX_OPENING && performance.now() < deadline) await Bun.sleep(1);
      this.#opening++;
      this.#connect().catch(() => this.#opening--);
    }
    while (this.#opening > 0 && performance.now() < deadline) await Bun.sleep(5);
  }

  /** Lets `finish` end all streams at the provider, and waits until every stream has ended or failed. */
  async finish(finish: () => Promise<unknown>): Promise<void> {
    this.#isEnding = true;
    await finish();
    const deadline = performance.now() + END_DEADLINE_MS;
    const isOver = () => this.#sockets.every(({ data }) => data.isComplete || data.isClosed);
    while (!isOver() && performance.now() < deadline) await Bun.sleep(20);
    this.#isOver = true;
    this.unfinished = this.#sockets.filter(
      ({ data }) => data.isOpen && !data.isComplete && !data.isClosed,
    ).length;
    for (const socket of this.#sockets) socket.terminate();
  }

  async #connect(): Promise<void> {
    const data: StreamState = { requestedAt: 0, isOpen: false, isComplete: false, isClosed: false, tail: "" };
    const socket = await Bun.connect<StreamState>({
      hostname: this.host,
      port: this.port,
      data,
      socket: this.#events,
    });
    this.#sockets.push(socket);
  }

  readonly #events: Bun.SocketHandler<StreamState> = {
    open: (socket) => {
      socket.data.requestedAt = wallMicroseconds();
      socket.write(this.request);
    },
    data: (socket, bytes) => this.#received(socket, bytes),
    close: ({ data }) => {
      data.isClosed = true;
      if (!data.isOpen) this.#opening--;
      else if (!data.isComplete && !this.#isOver) this.aborted++;
    },
    error: () => undefined,
  };

  #received({ data }: Bun.Socket<StreamState>, bytes: Buffer): void {
    const now = wallMicroseconds();
    for (let at = bytes.indexOf(MARK); at >= 0; at = bytes.indexOf(MARK, at + 1)) {
      this.events++;
      if (!data.isOpen) {
        data.isOpen = true;
        this.#opening--;
        this.firstEvents.push((now - data.requestedAt) / 1000);
      } else if (this.isMeasuring) {
        const sentAt = digitsAt(bytes, at + 1);
        if (sentAt > 0) this.delays.push((now - sentAt) / 1000);
      }
    }
    if (this.#isEnding && !data.isComplete) {
      const text = data.tail + bytes.toString("latin1");
      data.isComplete = text.includes(DONE);
      data.tail = text.slice(-DONE.length);
    }
  }
}

/** Returns the number at this offset; 0 if it is split over two reads, which is rare enough to be ignored. */
function digitsAt(bytes: Buffer, at: number): number {
  if (at + STAMP_DIGITS > bytes.length) return 0;
  let value = 0;
  for (let index = at; index < at + STAMP_DIGITS; index++) {
    const digit = (bytes[index] as number) - ZERO;
    if (digit < 0 || digit > 9) return 0;
    value = value * 10 + digit;
  }
  return value;
}
