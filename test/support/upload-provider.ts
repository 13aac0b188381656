// A provider on the TCP level that receives large bodies: it reads at the pace that the test sets, keeps no bytes but their hash, and
// responds when the test says so.
import type { Socket } from "bun";
import { waitFor, waitUntil } from "./waiting.ts";

/** One request, which is the only one of its connection unless the test responds with keep-alive. */
interface ReceivedUpload {
  readonly head: string;
  /** Bytes of the body so far. */
  readonly bytes: number;
  readonly isClosed: boolean;
  /** SHA-256 of the body so far, in hex. */
  hash(): string;
  pause(): void;
  resume(): void;
  respond(status: string, body?: string, headers?: string): void;
  end(): void;
  reset(): void;
}

interface UploadProvider {
  readonly url: string;
  readonly uploads: readonly ReceivedUpload[];
  /** Whether new connections are read. */
  isPaused: boolean;
  /** Resolves when the headers of a request have arrived. */
  upload(number?: number): Promise<ReceivedUpload>;
  reset(): void;
  stop(): void;
}

class Received implements ReceivedUpload {
  head = "";
  bytes = 0;
  isClosed = false;
  readonly #hasher = new Bun.CryptoHasher("sha256");
  readonly #socket: Socket<Received>;
  #start = Buffer.alloc(0);

  constructor(socket: Socket<Received>) {
    this.#socket = socket;
  }

  hash(): string {
    return this.#hasher.copy().digest("hex");
  }

  onData(bytes: Buffer): void {
    if (this.head !== "") {
      this.#addBody(bytes);
      return;
    }
    this.#start = Buffer.concat([this.#start, bytes]);
    const end = this.#start.indexOf("\r\n\r\n");
    if (end < 0) return;
    this.head = this.#start.toString("latin1", 0, end);
    this.#addBody(this.#start.subarray(end + 4));
  }

  pause(): void {
    this.#socket.pause();
  }
  resume(): void {
    this.#socket.resume();
  }
  respond(status: string, body = "{}", headers = ""): void {
    this.#socket.write(
      `HTTP/1.1 ${status}\r\nContent-Type: application/json\r\n${headers}Content-Length: ${body.length}\r\n\r\n${body}`,
    );
  }
  end(): void {
    this.#socket.end();
  }
  reset(): void {
    this.#socket.terminate();
  }

  #addBody(bytes: Buffer): void {
    this.bytes += bytes.length;
    this.#hasher.update(bytes);
  }
}

export function startUploadProvider(): UploadProvider {
  const uploads: Received[] = [];
  const provider = { isPaused: false };
  const listener = Bun.listen<Received>({
    hostname: "127.0.0.1",
    port: 0,
    socket: {
      open(socket) {
        socket.data = new Received(socket);
        uploads.push(socket.data);
        if (provider.isPaused) socket.pause();
      },
      data: (socket, bytes) => socket.data.onData(bytes),
      close: (socket) => void (socket.data.isClosed = true),
      error: (socket) => socket.terminate(),
    },
  });
  return Object.assign(provider, {
    url: `http://127.0.0.1:${listener.port}`,
    uploads,
    async upload(number = 1) {
      const found = await waitFor(() => uploads[number - 1] ?? null);
      await waitUntil(() => found.head !== "" || provider.isPaused);
      return found;
    },
    reset() {
      for (const upload of uploads.splice(0)) upload.reset();
      provider.isPaused = false;
    },
    stop: () => listener.stop(true),
  });
}
