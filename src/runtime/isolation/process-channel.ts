// An isolate that is a process: without environment variables, with one socket to the gateway, and optionally of another user.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { SocketSender } from "../../http/socket-sender.ts";
import type { Channel, ChannelEvents } from "./channel.ts";
import { connectTo } from "./connect-to.ts";
import { encodeFrame, FrameReader } from "./frames.ts";
import type { PluginUser } from "./plugin-user.ts";

/** The command of the executable, which has one entry point; the sources have another. */
const PROCESS_COMMAND = "plugin-process";
const PAGE_BYTES = 4096;
/** Where the socket is in `stdio`. */
const SOCKET = 3;
/** The kernel ends this process before the gateway if memory runs out. */
const OOM_SCORE = "1000";

function command(): string[] {
  if (Bun.isStandaloneExecutable) return [process.execPath, PROCESS_COMMAND];
  return [process.execPath, join(import.meta.dir, "isolate-process.ts")];
}

export function openProcess(user: PluginUser | null, { onPacket, onEnd }: ChannelEvents): Channel {
  let hasEnded = false;
  const child = Bun.spawn(command(), {
    env: {},
    // Not the working directory of the gateway, which may have a .env file.
    cwd: "/",
    stdio: ["ignore", "inherit", "inherit", "socket-fd"],
    ...(user !== null && { uid: user.uid, gid: user.gid }),
    onExit: (_child, code, signal) =>
      crash(signal === null ? `exit code ${String(code)}` : `signal ${String(signal)}`),
  });
  child.unref();
  setOomScore(child.pid);
  const reader = new FrameReader();
  const waiting: Buffer[] = [];
  let sender: SocketSender | null = null;
  let close = () => undefined as unknown;

  function crash(reason: string): void {
    if (hasEnded) return;
    end();
    onEnd(reason);
  }
  function end(): void {
    hasEnded = true;
    child.kill("SIGKILL");
    close();
  }
  const connecting = connectTo(child.stdio[SOCKET] as number, {
    open: (socket) => {
      socket.unref();
      sender = new SocketSender(socket);
      close = () => socket.terminate();
      for (const frame of waiting) sender.send(frame);
      waiting.length = 0;
      if (hasEnded) close();
    },
    data: (_socket, bytes) => {
      if (hasEnded) return;
      try {
        for (const packet of reader.read(bytes)) onPacket(packet);
      } catch (error) {
        crash(`invalid message: ${error instanceof Error ? error.message : String(error)}`);
      }
    },
    drain: () => void sender?.drain(),
    // The exit of the process, which says more, follows.
    close: () => undefined,
    error: () => undefined,
  });
  connecting.catch((error: unknown) => crash(`no socket: ${String(error)}`));
  const send: Channel["send"] = (packet) => {
    const frame = encodeFrame(packet);
    if (sender === null) waiting.push(frame);
    else sender.send(frame);
  };
  return { send, sendReply: send, end, memoryBytes: () => anonymousBytes(child.pid) };
}

function setOomScore(pid: number): void {
  try {
    writeFileSync(`/proc/${pid}/oom_score_adj`, OOM_SCORE);
  } catch {
    // Not Linux, or the process has ended.
  }
}

/** Returns the resident memory without files: the executable itself would be most of it. */
function anonymousBytes(pid: number): number | null {
  try {
    const [, resident = "0", shared = "0"] = readFileSync(`/proc/${pid}/statm`, "utf8").split(" ");
    return (Number(resident) - Number(shared)) * PAGE_BYTES;
  } catch {
    return null;
  }
}
