// Splits the bytes of a stream into server-sent events, each with the blank line that ends it.

const BLANK_LINE = /\r\n\r\n|\n\n|\r\r/g;

export class EventSplitter {
  /** One character per byte. */
  #rest = "";

  /** Returns the events that the next bytes complete. */
  push(bytes: Uint8Array): Uint8Array[] {
    const text = this.#rest + Buffer.from(bytes).toString("latin1");
    const events: Uint8Array[] = [];
    let start = 0;
    for (const { index, 0: end } of text.matchAll(BLANK_LINE)) {
      events.push(Buffer.from(text.slice(start, index + end.length), "latin1"));
      start = index + end.length;
    }
    this.#rest = text.slice(start);
    return events;
  }

  /** Returns what follows the last blank line. */
  end(): Uint8Array {
    return Buffer.from(this.#rest, "latin1");
  }
}
