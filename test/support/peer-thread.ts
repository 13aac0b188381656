// Starts the peers of a gateway in a thread of their own, and gives them their requests and responses.
import { afterAll } from "bun:test";

export interface SentRequest {
  readonly url: string;
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | null;
  /** How many requests are sent at the same time. */
  readonly count: number;
}

export interface PeerRequest {
  readonly call: number;
  /** Responses to set, by JSON-RPC method, method and cursor, or path. */
  readonly respond: readonly { readonly key: string; readonly body: string; readonly type: string }[];
  readonly sent: SentRequest | null;
}

export interface PeerReply {
  readonly call: number;
  readonly port: number;
  readonly responses: readonly PeerResponse[];
}

export interface PeerResponse {
  readonly status: number;
  /** The first 2,000 bytes of the body, as it was sent: with the framing of chunks. */
  readonly start: string;
  readonly length: number;
  /** The connection was closed before the end of the response. */
  readonly isCut: boolean;
}

export class PeerThread {
  readonly #worker: Worker;
  readonly #waiting = new Map<number, (reply: PeerReply) => void>();
  #calls = 0;
  port = 0;

  private constructor(worker: Worker) {
    this.#worker = worker;
    worker.onmessage = ({ data }: MessageEvent<PeerReply>) => {
      this.#waiting.get(data.call)?.(data);
      this.#waiting.delete(data.call);
    };
  }

  static async start(): Promise<PeerThread> {
    const peers = new PeerThread(new Worker(new URL("./peer-thread.fixture.ts", import.meta.url).href));
    peers.port = (await peers.#call([], null)).port;
    return peers;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  async respondTo(key: string, body: string, type = "application/json"): Promise<void> {
    await this.#call([{ key, body, type }], null);
  }

  async send(
    request: Pick<SentRequest, "url"> & Partial<SentRequest>,
  ): Promise<readonly [PeerResponse, ...PeerResponse[]]> {
    const sent = { method: "POST", headers: {}, body: null, count: 1, ...request };
    const { responses } = await this.#call([], sent);
    const [first, ...others] = responses;
    if (first === undefined) throw new Error("no request was sent");
    return [first, ...others];
  }

  stop(): void {
    this.#worker.terminate();
  }

  #call(respond: PeerRequest["respond"], sent: SentRequest | null): Promise<PeerReply> {
    const call = ++this.#calls;
    const { promise, resolve } = Promise.withResolvers<PeerReply>();
    this.#waiting.set(call, resolve);
    const request: PeerRequest = { call, respond, sent };
    this.#worker.postMessage(request);
    return promise;
  }
}

/** Starts peers that stop after the tests of the file. */
export async function usePeerThread(): Promise<PeerThread> {
  const peers = await PeerThread.start();
  afterAll(() => peers.stop());
  return peers;
}
