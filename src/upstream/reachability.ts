// Tells a provider that cannot be connected from one that is slow to answer. fetch does not say when its connection
// stands, so a request that has no answer yet opens a bare connection of its own to see whether one can be had.
// It is asked late and seldom: never when the origin has answered since the request began.
import { connect, type Socket } from "node:net";

/** Long enough for two retransmissions of a lost SYN (after one and three seconds). */
const PROBE_WINDOW_MS = 3500;
const MAX_ORIGINS = 1000;

interface Origin {
  readonly hostname: string;
  readonly port: number;
  /** When it last proved to be there. */
  seenAt: number;
  /** One for all who want to know; closed when it has told, or when nobody wants to know any more. */
  probe: Socket | null;
  watchers: number;
}

const origins = new Map<string, Origin>();
// Behind a proxy it is the proxy that connects, and a direct connection may not even be possible.
const PROXY_SETTINGS = ["HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"];
const usesProxy = PROXY_SETTINGS.some((name) => Boolean(process.env[name]));

export function originOf(url: URL): Origin {
  let origin = origins.get(url.origin);
  if (origin === undefined) {
    if (origins.size >= MAX_ORIGINS) origins.clear();
    const port = url.port === "" ? (url.protocol === "https:" ? 443 : 80) : Number(url.port);
    const hostname = url.hostname.replace(/^\[|\]$/g, "");
    origin = { hostname, port, seenAt: -Infinity, probe: null, watchers: 0 };
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
  const early = Math.max(0, connectMs - PROBE_WINDOW_MS);
  let verdict: Timer | undefined;
  let isWatching = false;
  const begin = setTimeout(() => {
    if (origin.seenAt >= startedAt) return;
    isWatching = true;
    origin.watchers++;
    origin.probe ??= openProbe(origin);
    verdict = setTimeout(() => {
      if (origin.seenAt < startedAt) onTimeout();
    }, connectMs - early);
  }, early);
  return () => {
    clearTimeout(begin);
    clearTimeout(verdict);
    if (isWatching && --origin.watchers === 0) closeProbe(origin);
  };
}

/** A refusal proves that somebody is there as well as a connection does. */
function openProbe(origin: Origin): Socket {
  const socket = connect({ host: origin.hostname, port: origin.port });
  const answered = () => {
    markSeen(origin);
    if (origin.probe === socket) origin.probe = null;
    socket.destroy();
  };
  return socket.once("connect", answered).on("error", answered);
}

function closeProbe(origin: Origin): void {
  origin.probe?.removeAllListeners("connect").destroy();
  origin.probe = null;
}
