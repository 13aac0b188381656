// Slots of Redis Cluster: which slot a key belongs to, and which node serves a slot.
import { RedisClient } from "bun";
import { toError } from "../base/to-error.ts";

export const SLOT_COUNT = 16_384;

/** One range of slots and the URL of its master. */
interface SlotRange {
  readonly first: number;
  readonly last: number;
  readonly url: string;
}

/** CRC-16/XMODEM, which Redis Cluster uses. */
const CRC_TABLE = Uint16Array.from({ length: 256 }, (_, byte) => {
  let crc = byte << 8;
  for (let bit = 0; bit < 8; bit++) crc = (crc & 0x8000) === 0 ? crc << 1 : (crc << 1) ^ 0x1021;
  return crc;
});
const encoder = new TextEncoder();

/** Returns the slot of a key: that of the part in braces, if there is one. */
export function slotOf(key: string): number {
  const open = key.indexOf("{");
  const close = open === -1 ? -1 : key.indexOf("}", open + 1);
  const hashed = close > open + 1 ? key.slice(open + 1, close) : key;
  let crc = 0;
  for (const byte of encoder.encode(hashed))
    crc = ((crc << 8) ^ (CRC_TABLE[(crc >> 8) ^ byte] ?? 0)) & 0xffff;
  return crc % SLOT_COUNT;
}

/** Returns the URLs in REDIS_URL. Later ones may be `host:port`: they have the scheme and the credentials of the first one. */
export function seedsOf(urls: string): readonly string[] {
  const [first = "", ...others] = urls.split(",").map((url) => url.trim());
  return [
    first,
    ...others.filter((url) => url !== "").map((url) => (url.includes("://") ? url : urlAt(first, url))),
  ];
}

/** Returns the URL of another node of the same cluster. `address` is `host:port`. */
function urlAt(url: string, address: string): string {
  const scheme = url.slice(0, url.indexOf("://"));
  const credentials = /^[^/]*:\/\/([^/]*@)?/.exec(url)?.[1] ?? "";
  return `${scheme}://${credentials}${address}`;
}

/** Returns the ranges of slots and the URLs of their masters; null if this server is not part of a cluster. */
export async function readSlots(client: RedisClient, url: string): Promise<readonly SlotRange[] | null> {
  let reply: unknown;
  try {
    reply = await client.send("CLUSTER", ["SLOTS"]);
  } catch (error) {
    // A server without Cluster, or one that hides it: a user without this permission, a proxy.
    if (/^(ERR|NOPERM)/.test(toError(error).message)) return null;
    throw error;
  }
  return Array.isArray(reply) ? reply.flatMap((range) => parseRange(range, url)) : null;
}

function parseRange(range: unknown, url: string): SlotRange[] {
  const [first, last, master] = itemsOf(range);
  const [host, port] = itemsOf(master);
  if (typeof first !== "number" || typeof last !== "number" || typeof port !== "number") return [];
  // A node that does not know its own address: it is the one that was asked.
  const name = typeof host === "string" && host !== "" && host !== "?" ? host : hostOf(url);
  return [{ first, last, url: urlAt(url, addressFrom(name, port)) }];
}

function itemsOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** Returns `host:port` as it is written in a URL. */
function addressFrom(host: string, port: number | string): string {
  return host.includes(":") && !host.startsWith("[") ? `[${host}]:${port}` : `${host}:${port}`;
}

function hostOf(url: string): string {
  return URL.parse(url)?.hostname ?? "";
}

/** The node that a MOVED or ASK error names, as `host:port`; null for other errors. An empty host is that of `url`. */
export function redirectionOf(
  message: string,
  url: string,
): { readonly kind: "MOVED" | "ASK"; readonly url: string } | null {
  const [kind, , address = ""] = message.split(" ", 3);
  if (kind !== "MOVED" && kind !== "ASK") return null;
  const at = address.lastIndexOf(":");
  const host = address.slice(0, at) || hostOf(url);
  return { kind, url: urlAt(url, addressFrom(host, address.slice(at + 1))) };
}

/**
 * Returns the URL of the server to use for a key: that of its master in a cluster, or the server itself. Rejects if none of the seeds in
 * REDIS_URL can be used.
 */
export async function findServer(urls: string, key: string, timeoutMs: number): Promise<string> {
  let problem: unknown = null;
  for (const seed of seedsOf(urls)) {
    const client = new RedisClient(seed, { autoReconnect: false, connectionTimeout: timeoutMs });
    try {
      const ranges = await readSlots(client, seed);
      const slot = slotOf(key);
      return ranges?.find(({ first, last }) => slot >= first && slot <= last)?.url ?? seed;
    } catch (error) {
      problem = error;
    } finally {
      client.close();
    }
  }
  throw problem;
}
