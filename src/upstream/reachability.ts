// Tells a provider that cannot be connected from one that is slow to answer. fetch does not say when its connection
// stands, so a request that has no answer yet opens a bare connection of its own to see whether one can be had.
// It is asked late and seldom: never when the origin has answered since the request began.

/** Long enough for two retransmissions of a lost SYN (after one and three seconds). */
const PROBE_WINDOW_MS = 3500;
const MAX_ORIGINS = 1000;

interface Origin {
  readonly hostname: string;
  readonly port: number;
  /** When it last proved to be there. */
  seenAt: number;
  probe: Promise<void> | null;
}

const origins = new Map<string, Origin>();
// Behind a proxy it is the proxy that connects, and a direct connection may not even be possible.
const usesProxy = ["HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"].some((name) =>
  Boolean(process.env[name]),
);

export function originOf(url: URL): Origin {
  let origin = origins.get(url.origin);
  if (origin === undefined) {
    if (origins.size >= MAX_ORIGINS) origins.clear();
    const port = url.port === "" ? (url.protocol === "https:" ? 443 : 80) : Number(url.port);
    const hostname = url.hostname.replace(/^\[|\]$/g, "");
    origin = { hostname, port, seenAt: -Infinity, probe: null };
    origins.set(url.origin, origin);
  }
  return origin;
}

export function markSeen(origin: Origin): void {
  origin.seenAt = performance.now();
}

/** Calls `onTimeout` when no connection can be had within `connectMs`. Returns what ends the watch. */
export function watchConnect(origin: Origin, connectMs: number, onTimeout: () => void): () => void {
  if (usesProxy) return () => undefined;
  const startedAt = performance.now();
  let verdict: Timer | undefined;
  const early = Math.max(0, connectMs - PROBE_WINDOW_MS);
  const begin = setTimeout(() => {
    if (origin.seenAt >= startedAt) return;
    void probe(origin, connectMs);
    verdict = setTimeout(() => {
      if (origin.seenAt < startedAt) onTimeout();
    }, connectMs - early);
  }, early);
  return () => {
    clearTimeout(begin);
    clearTimeout(verdict);
  };
}

/** One at a time for each origin. A refusal proves that somebody is there as well as a connection does. */
async function probe(origin: Origin, deadlineMs: number): Promise<void> {
  origin.probe ??= tryConnect(origin, deadlineMs).finally(() => (origin.probe = null));
  await origin.probe;
}

async function tryConnect(origin: Origin, deadlineMs: number): Promise<void> {
  const connecting = Bun.connect({
    hostname: origin.hostname,
    port: origin.port,
    socket: { data: () => undefined, open: (socket) => void socket.end() },
  });
  const seen = connecting.then(
    () => markSeen(origin),
    () => markSeen(origin),
  );
  await Promise.race([seen, Bun.sleep(deadlineMs)]);
}
