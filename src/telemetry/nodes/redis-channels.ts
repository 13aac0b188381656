// Publishes to channels of Redis and subscribes to some. Reconnects when the connection is lost; messages of that time are lost.
import { RedisClient } from "bun";
import type { Clock, ClockTimer } from "../../base/clock.ts";
import { toError } from "../../base/to-error.ts";
import { findServer } from "../../redis/cluster-slots.ts";
import type { Log } from "../log/log.ts";

const CONNECT_TIMEOUT_MS = 1000;
const RECONNECT_PAUSE_MS = 500;
/** A firewall may drop a connection without notice, and a subscriber only waits. So each process sends itself a message. */
const PROBE_MS = 10_000;

const REJECTED = /^(NOPERM|NOAUTH|WRONGPASS)/;

interface RedisChannelsOptions {
  readonly url: string;
  /** The channels to subscribe to. */
  readonly channels: readonly string[];
  /** One of the channels, to which no one else is subscribed. */
  readonly ownChannel: string;
  readonly onMessage: (text: string) => void;
  readonly log: Log;
  readonly clock: Clock;
}

interface Connection {
  /** A client that is subscribed cannot send other commands. */
  readonly subscriber: RedisClient;
  readonly publisher: RedisClient;
}

export class RedisChannels {
  readonly #options: RedisChannelsOptions;
  #connection: Connection | null = null;
  #pause: ClockTimer | null = null;
  #isClosed = false;
  #isRejectionLogged = false;
  /** Whether a message has arrived since the last probe was sent. */
  #isHeard = false;
  readonly #probe: ClockTimer;

  constructor(options: RedisChannelsOptions) {
    this.#options = options;
    this.#probe = options.clock.setInterval(() => this.#checkConnection(), PROBE_MS);
    this.#probe.unref();
    void this.#connect();
  }

  /** Resolves with the number of receivers; 0 if Redis is unavailable. */
  async publish(channel: string, text: string): Promise<number> {
    try {
      const receivers: unknown = await this.#connection?.publisher.send("PUBLISH", [channel, text]);
      return Number(receivers ?? 0);
    } catch {
      return 0;
    }
  }

  close(): void {
    this.#isClosed = true;
    this.#probe.close();
    this.#pause?.close();
    this.#disconnect();
  }

  async #connect(): Promise<void> {
    const { channels, onMessage } = this.#options;
    const url = await this.#findServer();
    if (url === null || this.#isClosed) return;
    const create = () =>
      new RedisClient(url, { autoReconnect: false, connectionTimeout: CONNECT_TIMEOUT_MS });
    const connection = { subscriber: create(), publisher: create() };
    this.#connection = connection;
    const reconnect = () => {
      if (this.#connection === connection) this.#reconnectLater();
    };
    for (const client of Object.values(connection)) client.onclose = reconnect;
    try {
      await connection.publisher.send("PING", []);
      for (const channel of channels)
        await connection.subscriber.subscribe(channel, (text) => {
          this.#isHeard = true;
          onMessage(text);
        });
      this.#isHeard = true;
    } catch (error) {
      this.#logRejection(toError(error).message);
      reconnect();
    }
  }

  /**
   * In a cluster, all processes use the server of one slot: messages reach every server, but the number of receivers covers only those
   * of the same one. Null if none can be used; then this is tried again.
   */
  async #findServer(): Promise<string | null> {
    const { url, ownChannel } = this.#options;
    try {
      return await findServer(url, ownChannel.split(":").slice(0, 2).join(":"), CONNECT_TIMEOUT_MS);
    } catch (error) {
      this.#logRejection(toError(error).message);
      this.#reconnectLater();
      return null;
    }
  }

  #checkConnection(): void {
    if (this.#connection === null) return;
    if (!this.#isHeard) {
      this.#reconnectLater();
      return;
    }
    this.#isHeard = false;
    void this.publish(this.#options.ownChannel, "");
  }

  /** Only what waiting does not fix: the counters, which use the same server, report that it is unavailable. */
  #logRejection(reason: string): void {
    if (this.#isRejectionLogged || !REJECTED.test(reason)) return;
    this.#isRejectionLogged = true;
    this.#options.log.warn({ reason }, "Redis does not allow messages between nodes");
  }

  #reconnectLater(): void {
    this.#disconnect();
    if (this.#isClosed) return;
    this.#pause = this.#options.clock.setTimeout(() => void this.#connect(), RECONNECT_PAUSE_MS);
    this.#pause.unref();
  }

  #disconnect(): void {
    const connection = this.#connection;
    this.#connection = null;
    connection?.subscriber.close();
    connection?.publisher.close();
  }
}
