// The request log over all nodes that share Redis. A node that lists or follows the log sends a message to the others, and these
// send the matching records from their memory. While no one does, no record is sent.
import type { Clock, ClockTimer } from "../../base/clock.ts";
import { newId } from "../../base/ids.ts";
import type { Log } from "../log/log.ts";
import type { Metrics } from "../metrics/metrics.ts";
import {
  mergeRequests,
  type RequestFilter,
  type RequestListener,
  type RequestPage,
  type RequestSource,
} from "../requests/request-log.ts";
import type { RequestRecord } from "../requests/request-record.ts";
import { NodeCipher } from "./node-cipher.ts";
import { RedisChannels } from "./redis-channels.ts";

/** The replies of nodes that take longer are left out. */
const REPLY_TIMEOUT_MS = 1000;
/** A follower that is not renewed for this long has ended without notice. */
const LEASE_MS = 15_000;
const RENEW_MS = 5000;
/** Further records of a reply are left out. */
const MAX_REPLY_CHARACTERS = 4 * 1024 * 1024;
/** Records that Redis has not yet accepted; further ones are dropped. */
const MAX_SENDING_CHARACTERS = 4 * 1024 * 1024;
/** Messages of another version of the protocol are ignored. */
const PROTOCOL = 1;

type Message = { readonly protocol: number; readonly id: string } & (
  | { readonly kind: "query"; readonly from: Sender; readonly filter: RequestFilter; readonly limit: number }
  | { readonly kind: "reply"; readonly node: string; readonly page: RequestPage | null }
  | { readonly kind: "follow"; readonly from: Sender; readonly filter: RequestFilter | null }
  | { readonly kind: "record"; readonly node: string; readonly record: RequestRecord }
);

interface Sender {
  readonly processId: string;
  /** The worker processes of a node have the same one. */
  readonly instanceId: string;
}

interface NodeRequestsParts {
  readonly url: string;
  readonly secret: string;
  readonly node: string;
  readonly instanceId: string;
  /** The requests of this process. */
  readonly own: RequestSource;
  /** The requests of all worker processes of this node. */
  readonly ofNode: RequestSource;
  readonly metrics: Metrics;
  readonly log: Log;
  readonly clock: Clock;
}

interface PendingQuery {
  readonly pages: RequestPage[];
  /** Replies so far; the expected number is known only after the query was sent. */
  replies: number;
  expected: number;
  readonly done: () => void;
}

interface Following {
  readonly stop: () => void;
  readonly lease: ClockTimer;
}

export class NodeRequests implements RequestSource {
  readonly isOn: boolean;
  readonly #parts: NodeRequestsParts;
  readonly #sender: Sender;
  readonly #cipher: NodeCipher;
  readonly #channels: RedisChannels;
  readonly #pending = new Map<string, PendingQuery>();
  readonly #listeners = new Map<string, RequestListener>();
  /** By the ids of followers on other nodes. */
  readonly #followers = new Map<string, Following>();
  #sendingCharacters = 0;

  constructor(parts: NodeRequestsParts) {
    this.#parts = parts;
    this.isOn = parts.ofNode.isOn;
    this.#sender = { processId: newId(), instanceId: parts.instanceId };
    this.#cipher = new NodeCipher(parts.secret);
    const ownChannel = this.#channelOf(this.#sender.processId);
    this.#channels = new RedisChannels({
      url: parts.url,
      // Replies arrive on the own channel. If it were the second one, those to a query between the two would be lost.
      channels: [ownChannel, this.#cipher.channel],
      ownChannel,
      onMessage: (text) => this.#receive(text),
      log: parts.log,
      clock: parts.clock,
    });
    for (const result of ["sent", "dropped"] as const) this.#count(result, 0);
  }

  async listRequests(filter: RequestFilter, limit: number): Promise<RequestPage> {
    const others = this.#queryOthers(filter, limit);
    const page = await this.#parts.ofNode.listRequests(filter, limit);
    const own = { ...page, requests: page.requests.map((record) => this.#withNode(record)) };
    const pages = await others;
    return pages.length === 0 ? own : mergeRequests([own, ...pages], limit);
  }

  followRequests(listener: RequestListener): (() => void) | null {
    const onRequest = (record: RequestRecord) => listener.onRequest(this.#withNode(record));
    const stop = this.#parts.ofNode.followRequests({
      filter: listener.filter,
      onRequest,
      onClose: () => listener.onClose(),
    });
    if (stop === null) return null;
    const id = newId();
    this.#listeners.set(id, listener);
    const renew = () => this.#broadcast({ kind: "follow", id, from: this.#sender, filter: listener.filter });
    void renew();
    const timer = this.#parts.clock.setInterval(() => void renew(), RENEW_MS);
    timer.unref();
    return () => {
      stop();
      timer.close();
      this.#listeners.delete(id);
      void this.#broadcast({ kind: "follow", id, from: this.#sender, filter: null });
    };
  }

  close(): void {
    for (const { stop, lease } of this.#followers.values()) {
      stop();
      lease.close();
    }
    this.#followers.clear();
    this.#channels.close();
  }

  async #queryOthers(filter: RequestFilter, limit: number): Promise<RequestPage[]> {
    const id = newId();
    const { promise, resolve } = Promise.withResolvers<undefined>();
    const done = () => resolve(undefined);
    const pending: PendingQuery = { pages: [], replies: 0, expected: Infinity, done };
    this.#pending.set(id, pending);
    const timeout = this.#parts.clock.setTimeout(done, REPLY_TIMEOUT_MS);
    void this.#broadcast({ kind: "query", id, from: this.#sender, filter, limit }).then((receivers) => {
      // This process receives the query, too, and does not reply.
      pending.expected = Math.max(0, receivers - 1);
      if (pending.replies >= pending.expected) done();
    });
    await promise;
    timeout.close();
    this.#pending.delete(id);
    return pending.pages;
  }

  #receive(sealed: string): void {
    const text = this.#cipher.open(sealed);
    if (text === null) return;
    // Only a node with the same secret can have sent it.
    const message = JSON.parse(text) as Message;
    if (message.protocol !== PROTOCOL) return;
    if (message.kind === "query") void this.#reply(message.id, message.from, message.filter, message.limit);
    else if (message.kind === "follow") this.#follow(message.id, message.from, message.filter);
    else if (message.kind === "record")
      this.#listeners.get(message.id)?.onRequest({ ...message.record, node: message.node });
    else this.#addReply(message.id, message.node, message.page);
  }

  #addReply(id: string, node: string, page: RequestPage | null): void {
    const pending = this.#pending.get(id);
    if (pending === undefined) return;
    if (page !== null)
      pending.pages.push({ ...page, requests: page.requests.map((record) => ({ ...record, node })) });
    if (++pending.replies >= pending.expected) pending.done();
  }

  /** The processes of one node have other means to exchange records, and only reply that they are running. */
  async #reply(id: string, from: Sender, filter: RequestFilter, limit: number): Promise<void> {
    if (from.processId === this.#sender.processId) return;
    const isSameNode = from.instanceId === this.#sender.instanceId;
    const page = isSameNode ? null : bounded(await this.#parts.own.listRequests(filter, limit));
    await this.#sendRecords(from, page?.requests.length ?? 0, {
      kind: "reply",
      id,
      node: this.#parts.node,
      page,
    });
  }

  #follow(id: string, from: Sender, filter: RequestFilter | null): void {
    if (from.instanceId === this.#sender.instanceId) return;
    const before = this.#followers.get(id);
    before?.lease.close();
    const stop = filter === null ? before?.stop : (before?.stop ?? this.#startFollowing(id, from, filter));
    if (filter === null || stop === null || stop === undefined) {
      stop?.();
      this.#followers.delete(id);
      return;
    }
    const lease = this.#parts.clock.setTimeout(() => this.#follow(id, from, null), LEASE_MS);
    lease.unref();
    this.#followers.set(id, { stop, lease });
  }

  #startFollowing(id: string, from: Sender, filter: RequestFilter): (() => void) | null {
    const { own, node } = this.#parts;
    const onRequest = (record: RequestRecord) =>
      void this.#sendRecords(from, 1, { kind: "record", id, node, record });
    return own.followRequests({ filter, onRequest, onClose: () => this.#followers.delete(id) });
  }

  #withNode(record: RequestRecord): RequestRecord {
    return { ...record, node: this.#parts.node };
  }

  #broadcast(message: DistributiveOmit<Message, "protocol">): Promise<number> {
    const text = this.#cipher.seal(JSON.stringify({ protocol: PROTOCOL, ...message }));
    return this.#channels.publish(this.#cipher.channel, text);
  }

  /** Drops the records if Redis does not keep up. */
  async #sendRecords(
    { processId }: Sender,
    records: number,
    message: DistributiveOmit<Message, "protocol">,
  ): Promise<void> {
    const text = JSON.stringify({ protocol: PROTOCOL, ...message });
    if (this.#sendingCharacters > MAX_SENDING_CHARACTERS) {
      this.#count("dropped", records);
      return;
    }
    this.#sendingCharacters += text.length;
    const receivers = await this.#channels.publish(this.#channelOf(processId), this.#cipher.seal(text));
    this.#sendingCharacters -= text.length;
    this.#count(receivers > 0 ? "sent" : "dropped", records);
  }

  #channelOf(processId: string): string {
    return `${this.#cipher.channel}:${processId}`;
  }

  #count(result: "sent" | "dropped", records: number): void {
    this.#parts.metrics.number("gatehouse_request_log_shared_total", { result }).add(records);
  }
}

type DistributiveOmit<T, Key extends PropertyKey> = T extends unknown ? Omit<T, Key> : never;

function bounded(page: RequestPage): RequestPage {
  let characters = 0;
  const requests = page.requests.filter((record) => {
    characters += JSON.stringify(record).length;
    return characters <= MAX_REPLY_CHARACTERS;
  });
  return { ...page, requests };
}
