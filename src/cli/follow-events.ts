// Follows a stream of server-sent events of the Admin API until a signal stops it, and reconnects if the connection is lost.
import { setTimeout as sleep } from "node:timers/promises";
import { SseParser, type SseEvent } from "../formats/sse.ts";
import { adminClient, adminUrl, GatewayUnavailable, type AdminClientFlags } from "./admin-client.ts";

const RETRY_MS = 1000;
/** The server sends a comment every 15 seconds. A connection that is silent for longer is lost. */
const MAX_SILENCE_MS = 45_000;

/** Throws if the first connection fails, or if the server rejects a later one, for example because it has another secret. */
export async function followEvents(
  flags: AdminClientFlags,
  path: string,
  signal: AbortSignal,
  onEvent: (event: SseEvent) => void,
): Promise<void> {
  const url = adminUrl(flags);
  let isFirst = true;
  while (!signal.aborted) {
    try {
      // A new client signs a new token: the one of the last connection may have expired.
      const stream = await (await adminClient(flags)).getStream(path, signal);
      if (!isFirst) console.error(`gatehouse: connected to ${url} again`);
      isFirst = false;
      await readEvents(stream, signal, onEvent);
      if (!signal.aborted) console.error(`gatehouse: connection to ${url} lost; reconnecting`);
    } catch (error) {
      if (signal.aborted) return;
      if (isFirst || !(error instanceof GatewayUnavailable)) throw error;
    }
    await sleep(RETRY_MS, undefined, { signal }).catch(() => undefined);
  }
}

/** Resolves when the stream ends, fails, is silent for too long, or is aborted. */
async function readEvents(
  stream: ReadableStream<Uint8Array>,
  signal: AbortSignal,
  onEvent: (event: SseEvent) => void,
): Promise<void> {
  const parser = new SseParser();
  const reader = stream.getReader();
  const cancel = () => void reader.cancel().catch(() => undefined);
  const silence = setTimeout(cancel, MAX_SILENCE_MS);
  signal.addEventListener("abort", cancel, { once: true });
  try {
    for (;;) {
      const { done, value } = await reader.read().catch(() => ({ done: true, value: undefined }));
      if (done || value === undefined) return;
      silence.refresh();
      for (const event of parser.push(value)) onEvent(event);
    }
  } finally {
    clearTimeout(silence);
    signal.removeEventListener("abort", cancel);
  }
}

/** Aborted by Ctrl-C, SIGTERM, or the end of the program that reads the output, such as `head`. */
export function stopSignal(): AbortSignal {
  const stop = new AbortController();
  for (const name of ["SIGINT", "SIGTERM", "SIGPIPE"] as const) process.once(name, () => stop.abort());
  return stop.signal;
}
