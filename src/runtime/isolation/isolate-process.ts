// The entry point of a plugin process. File descriptor 3 is a socket to the gateway. The process has no environment variables.
import { readSync, writeSync } from "node:fs";
import { openCLibrary } from "../../base/c-library.ts";
import { encodeFrame, FrameReader } from "./frames.ts";
import { connectTo } from "./connect-to.ts";
import { IsolateRunner } from "./isolate-runner.ts";
import { loadPlugin } from "./load-plugin.ts";
import type { Packet } from "./messages.ts";

const HANDLED_BY_GATEWAY = ["SIGINT", "SIGTERM", "SIGHUP", "SIGUSR1", "SIGUSR2"] as const;
const STANDARD_ERROR = 2;
const SOCKET = 3;
const READ_BYTES = 64 * 1024;
/** How long to wait before the socket is tried again. */
const RETRY_MS = 0.02;
const PR_SET_PDEATHSIG = 1;
const SIGKILL = 9n;
/** Never changed: waiting for a change of it is a pause that needs no event loop. */
const unchanged = new Int32Array(new SharedArrayBuffer(4));

/** Resolves never: the process ends when the gateway closes the socket. */
export async function runPluginProcess(): Promise<never> {
  // Bun reads a .env file of the working directory, if there is one.
  for (const name of Object.keys(process.env)) Reflect.deleteProperty(process.env, name);
  // A terminal, or systemd, sends these signals to all processes of the gateway, which still serves requests and ends this process later.
  for (const signal of HANDLED_BY_GATEWAY) process.on(signal, () => undefined);
  // The pending promise of this function must not keep a process alive whose state is not known any more.
  process.on("uncaughtException", exitWith);
  process.on("unhandledRejection", exitWith);
  await endWithParent();
  const reader = new FrameReader();
  /** Packets that arrived while a question was waiting. */
  const kept: Packet[] = [];
  const runner = new IsolateRunner({ send, waitFor }, loadPlugin);
  const handleKept = () => {
    for (let packet = kept.shift(); packet !== undefined; packet = kept.shift()) runner.handle(packet);
  };

  function waitFor(isReply: (packet: Packet) => boolean): Packet {
    const buffer = Buffer.allocUnsafe(READ_BYTES);
    for (;;) {
      const length = retry(() => readSync(SOCKET, buffer));
      if (length === 0) process.exit(0);
      let reply: Packet | null = null;
      for (const packet of reader.read(Buffer.from(buffer.subarray(0, length)))) {
        if (reply === null && isReply(packet)) reply = packet;
        else if (kept.push(packet) === 1) setImmediate(handleKept);
      }
      if (reply !== null) return reply;
    }
  }

  await connectTo(SOCKET, {
    data: (_socket, bytes) => {
      for (const packet of reader.read(bytes)) kept.push(packet);
      handleKept();
    },
    close: () => process.exit(0),
    error: () => process.exit(0),
  });
  return new Promise<never>(() => undefined);
}

function exitWith(error: unknown): never {
  writeSync(STANDARD_ERROR, `${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`);
  process.exit(1);
}

/** A hook that loops would not notice that the gateway has ended, so the kernel ends this process then. */
async function endWithParent(): Promise<void> {
  if (process.platform !== "linux") return;
  const { prctl } = await openCLibrary({ prctl: { args: ["i32", "u64"], returns: "i32" } });
  prctl(PR_SET_PDEATHSIG, SIGKILL);
}

/** Writes without the event loop, so that packets of blocking questions are not sent in the middle of others. */
function send(packet: Packet): void {
  const frame = encodeFrame(packet);
  for (let sent = 0; sent < frame.byteLength;)
    sent += retry(() => writeSync(SOCKET, frame, sent, frame.byteLength - sent));
}

function retry(attempt: () => number): number {
  for (;;) {
    try {
      return attempt();
    } catch (error) {
      if (!(error instanceof Error) || !("code" in error) || error.code !== "EAGAIN") throw error;
      Atomics.wait(unchanged, 0, 0, RETRY_MS);
    }
  }
}

if (import.meta.main) await runPluginProcess();
