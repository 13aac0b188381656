// Many streams at once over raw sockets, as cheap as can be: it only looks for the times in what arrives.
import { DONE, STAMP_DIGITS, STAMP_MARK, wallMicroseconds } from "./stream-events.ts";

const MARK = STAMP_MARK.charCodeAt(0);
const ZERO = 0x30;
/** Streams that are being opened at a time: with more, the first event would tell how long they waited for each other. */
const OPENING = 1;
const OPEN_DEADLINE_MS = 60_000;
const END_DEADLINE_MS = 15_000;

interface StreamState {
  requestedAt: number;
  isOpen: boolean;
  isComplete: boolean;
  isClosed: boolean;
  /** The end of what came before, while the last event is looked for. */
  tail: string;
}

export class StreamClient {
  /** Milliseconds from the request to the first event, a stream each. */
  readonly firstEvents: number[] = [];
  /** Milliseconds from the provider's sending to here, an event each, while `isMeasuring`. */
  delays: number[] = [];
  isMeasuring = false;
  events = 0;
  /** Streams that broke off before their end. */
  aborted = 0;
  /** Streams whose end had not come when it was no longer waited for. */
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
      while (this.#opening >= OPENING && performance.now() < deadline) await Bun.sleep(1);
      this.#opening++;
      this.#connect().catch(() => this.#opening--);
    }
    while (this.#opening > 0 && performance.now() < deadline) await Bun.sleep(5);
  }

  /** Waits until every stream has come to its end, good or bad. */
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

/** The number there; 0 where it is cut in two, which is rare enough to be left out. */
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
