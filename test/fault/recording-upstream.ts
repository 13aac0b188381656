// A provider that parses strictly, numbers every request, and sends the body back, so that each request can be matched with
// the client that got its response.
import { RequestParser, type RequestHead } from "../../src/fake-provider/http-parser.ts";

interface Recorded {
  readonly serial: number;
  readonly head: RequestHead;
  readonly body: string;
}

interface RecordingUpstream {
  readonly url: string;
  /** By serial number. */
  readonly requests: Map<number, Recorded>;
  readonly count: number;
  /** Received bytes that are not valid HTTP. The gateway must never send any. */
  readonly problems: string[];
  stop(): void;
}

interface Connection {
  readonly parser: RequestParser;
  head: RequestHead | null;
}

export function startRecordingUpstream(): RecordingUpstream {
  const requests = new Map<number, Recorded>();
  const problems: string[] = [];
  let count = 0;
  const listener = Bun.listen<Connection>({
    hostname: "127.0.0.1",
    port: 0,
    socket: {
      open: (socket) => void (socket.data = { parser: new RequestParser(), head: null }),
      data(socket, bytes) {
        const { data } = socket;
        data.parser.feed(Buffer.from(bytes));
        for (let event = data.parser.next(); event !== null; event = data.parser.next()) {
          if (event.kind === "error") {
            problems.push(`${event.message} in ${JSON.stringify(bytes.toString("latin1"))}`);
            socket.terminate();
            return;
          }
          if (event.kind === "head") data.head = event.head;
          else if (data.head !== null) respond(socket, data.head, event.body);
        }
      },
    },
  });
  function respond(socket: Bun.Socket<Connection>, head: RequestHead, bytes: Uint8Array): void {
    const serial = ++count;
    const body = Buffer.from(bytes).toString("latin1");
    requests.set(serial, { serial, head, body });
    const length = head.method === "HEAD" ? 0 : bytes.length;
    socket.write(
      Buffer.from(
        `HTTP/1.1 200 OK\r\nX-Serial: ${serial}\r\nContent-Type: text/plain\r\nContent-Length: ${length}\r\n\r\n${body}`,
        "latin1",
      ),
    );
  }
  return {
    url: `http://127.0.0.1:${listener.port}`,
    requests,
    get count() {
      return count;
    },
    problems,
    stop: () => listener.stop(true),
  };
}
