// An isolate that is a worker thread.
import { MessageChannel } from "node:worker_threads";
import { moduleUrl } from "../../off-loop/module-url.ts";
import type { Channel, ChannelEvents } from "./channel.ts";
import type { WorkerStart } from "./isolate-worker.ts";
import type { Packet } from "./messages.ts";

const ENTRY = new URL("./isolate-worker.ts", import.meta.url);

export function openWorker({ onPacket, onEnd }: ChannelEvents): Channel {
  const worker = new Worker(moduleUrl(ENTRY), { name: "plugin", env: {} });
  const replies = new Int32Array(new SharedArrayBuffer(4));
  const { port1, port2 } = new MessageChannel();
  let hasEnded = false;
  const end = () => {
    hasEnded = true;
    worker.terminate();
    port1.close();
  };
  const crash = (reason: string) => {
    if (hasEnded) return;
    end();
    onEnd(reason);
  };
  worker.onmessage = ({ data }: MessageEvent<Packet>) => {
    if (!hasEnded) onPacket(data);
  };
  worker.onerror = (event) => crash(`uncaught error: ${event.message}`);
  worker.onmessageerror = () => crash("a message could not be read");
  worker.addEventListener("close", () => crash("the worker thread exited"));
  worker.unref();
  const start: WorkerStart = { replies: replies.buffer, port: port2 };
  worker.postMessage(start, [port2]);
  return {
    send: (packet) => worker.postMessage(packet),
    sendReply: (packet) => {
      port1.postMessage(packet);
      Atomics.add(replies, 0, 1);
      Atomics.notify(replies, 0);
    },
    end,
    memoryBytes: () => null,
  };
}
