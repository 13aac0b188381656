// The WebSockets that are open in this process: counted for metrics, and closed when the process stops.
import type { NumberSeries } from "../../telemetry/metrics/metric-family.ts";

interface OpenSocket {
  /** Closes the socket now if no response is being generated, else after the response. */
  drain(): void;
  /** Closes the socket now, and settles and records it without waiting for the other sides. */
  cutForShutdown(): void;
}

export class OpenSockets {
  readonly #sockets = new Set<OpenSocket>();
  readonly #gauge: NumberSeries;
  #isDraining = false;
  #isStopped = false;

  constructor(gauge: NumberSeries) {
    this.#gauge = gauge;
  }

  add(socket: OpenSocket): void {
    this.#sockets.add(socket);
    this.#gauge.value = this.#sockets.size;
    if (this.#isStopped) socket.cutForShutdown();
    else if (this.#isDraining) socket.drain();
  }

  delete(socket: OpenSocket): void {
    this.#sockets.delete(socket);
    this.#gauge.value = this.#sockets.size;
  }

  /** Call when the listeners stop accepting connections. */
  drain(): void {
    this.#isDraining = true;
    for (const socket of [...this.#sockets]) socket.drain();
  }

  /**
   * Call when the time for running requests is over, while the storage is open: on return, every socket is settled and recorded, also those
   * whose closing handshake is not complete.
   */
  closeAll(): void {
    this.#isStopped = true;
    for (const socket of [...this.#sockets]) socket.cutForShutdown();
  }
}
