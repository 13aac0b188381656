// Writes a comment to a translated event stream that has been silent for some seconds: a model that thinks may send nothing
// that the format of the client can express, and clients and proxies would take the silence for a broken connection.
import { NOT_A_MEMBER } from "../base/dense-set.ts";
import type { BodyWriter } from "../http/server/outgoing-response.ts";
import type { CoarseDeadlines, Deadline } from "../http/coarse-deadlines.ts";

/** Clients get a comment at least every 5 seconds. Deadlines are checked a little late. */
const INTERVAL_MS = 4_500;
const COMMENT = Buffer.from(": keep-alive\n\n");
const LF = 0x0a;

export class KeepAliveComments implements Deadline {
  dueAt = Infinity;
  setPosition = NOT_A_MEMBER;
  readonly #client: BodyWriter;
  readonly #deadlines: CoarseDeadlines;
  #isBetweenEvents = true;

  constructor(client: BodyWriter, deadlines: CoarseDeadlines) {
    this.#client = client;
    this.#deadlines = deadlines;
    this.#restart();
    deadlines.watch(this);
  }

  /** Call with all bytes that the client gets. */
  written(bytes: Uint8Array): void {
    // Plugins may hold back a part of an event.
    this.#isBetweenEvents = bytes.at(-1) === LF && bytes.at(-2) === LF;
    this.#restart();
  }

  expire(): void {
    if (this.#isBetweenEvents) this.#client.write(COMMENT)?.catch(() => undefined);
    this.#restart();
  }

  stop(): void {
    this.#deadlines.unwatch(this);
  }

  #restart(): void {
    this.dueAt = this.#deadlines.clock.now() + INTERVAL_MS;
  }
}
