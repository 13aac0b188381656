// The entry point of a plugin's worker thread.
import { receiveMessageOnPort, type MessagePort } from "node:worker_threads";
import { IsolateRunner } from "./isolate-runner.ts";
import { loadPlugin } from "./load-plugin.ts";
import type { Packet } from "./messages.ts";

declare const self: Worker;

/** The first message: how the gateway replies to questions that block this thread. */
export interface WorkerStart {
  /** Counts the replies. */
  readonly replies: SharedArrayBuffer;
  readonly port: MessagePort;
}

let start: WorkerStart | null = null;
let seen = 0;

const send = ({ text, blobs }: Packet) => self.postMessage({ text, blobs });

function waitFor(isReply: (packet: Packet) => boolean): Packet {
  if (start === null) throw new Error("the thread is not started yet");
  const replies = new Int32Array(start.replies);
  for (;;) {
    Atomics.wait(replies, 0, seen);
    const received = receiveMessageOnPort(start.port) as { readonly message: Packet } | undefined;
    if (received === undefined) continue;
    seen++;
    if (isReply(received.message)) return received.message;
  }
}

const runner = new IsolateRunner({ send, waitFor }, loadPlugin);

self.onmessage = ({ data }: MessageEvent<WorkerStart | Packet>) => {
  if ("text" in data) runner.handle(data);
  else start = data;
};
