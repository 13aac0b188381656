// A listener that accepts no connection, for tests of connect timeouts.

/** Listens with the shortest queue, accepts no connection, and prints its port. */
const NEVER_ACCEPTS = `use Socket; $| = 1;
socket(S, PF_INET, SOCK_STREAM, 0); bind(S, sockaddr_in(0, INADDR_LOOPBACK)) or die; listen(S, 0) or die;
print((sockaddr_in(getsockname(S)))[0], "\\n"); sleep 600;`;

/** A connection that is not established after this time never will be: the kernel dropped its SYN. */
const DROPPED_SYN_MS = 200;

interface FullListener {
  readonly url: string;
  stop(): void;
}

/** Starts a listener whose queue is full: the kernel drops every further SYN, as if the host were down. */
export async function startFullListener(): Promise<FullListener> {
  const child = Bun.spawn(["perl", "-e", NEVER_ACCEPTS], { stdout: "pipe" });
  const printed = await child.stdout.getReader().read();
  const port = Number(new TextDecoder().decode(printed.value));
  const sockets: { terminate(): unknown }[] = [];
  for (let isFull = false; !isFull;) {
    const connecting = Bun.connect({ hostname: "127.0.0.1", port, socket: { data: () => undefined } });
    void connecting.then((socket) => sockets.push(socket)).catch(() => undefined);
    isFull = await Promise.race([connecting.then(() => false), Bun.sleep(DROPPED_SYN_MS).then(() => true)]);
  }
  return {
    url: `http://127.0.0.1:${port}`,
    stop() {
      child.kill("SIGKILL");
      for (const socket of sockets) socket.terminate();
    },
  };
}
