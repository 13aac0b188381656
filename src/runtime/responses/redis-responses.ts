// Kept responses in Redis: compressed, encrypted with a key that is derived from the server secret, and bounded by bytes per plugin entry.
import { createCipheriv, createDecipheriv, createHmac, hkdfSync, randomBytes } from "node:crypto";
import type { Clock } from "../../base/clock.ts";
import { isJsonObject } from "../../base/json.ts";
import { withTimeout } from "../../base/with-timeout.ts";
import { SharedRedis } from "../../redis/shared-redis.ts";
import { OpenedValues } from "./opened-values.ts";
import {
  KeptStreams,
  type KeptResponse,
  type Occupied,
  type ResponseBackend,
  type StreamKind,
} from "./kept-response.ts";
import { OVERHEAD_BYTES } from "./memory-responses.ts";

/** A request waits this long for Redis. Longer ones are misses. */
const READ_TIMEOUT_MS = 100;
const ADMIN_TIMEOUT_MS = 2000;
const ALGORITHM = "aes-256-gcm";
const IV_BYTES = 12;
const TAG_BYTES = 16;

/** How long a purge is remembered at least: longer than any request takes. */
const PURGE_KNOWN_MS = 24 * 3_600_000;

/** By the clock of Redis: a node whose clock is ahead would drop what others keep. */
const NOW = `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)`;
/** All keys of a gateway are in one slot of Redis Cluster, because they have the same hash tag. */
const DROP = `
local index, sizes, purged = KEYS[1], KEYS[2], KEYS[3]
local function drop(member)
  local size = tonumber(redis.call('HGET', sizes, member) or '0')
  redis.call('DEL', ARGV[1] .. member)
  redis.call('ZREM', index, member)
  redis.call('HDEL', sizes, member)
  return redis.call('HINCRBY', sizes, 'total', string.format('%d', -size))
end`;
/** Arguments: prefix, member, value, time to live, size, the generation of the request, maximum. Replies the generation, in which alone the value is set. */
const SET_SCRIPT = `${DROP}${NOW}
local generation = redis.call('GET', purged) or ''
if generation ~= ARGV[6] then return generation end
for _, member in ipairs(redis.call('ZRANGEBYSCORE', index, 0, now, 'LIMIT', 0, 100)) do drop(member) end
local total = drop(ARGV[2])
while total + tonumber(ARGV[5]) > tonumber(ARGV[7]) do
  local oldest = redis.call('ZRANGE', index, 0, 0)[1]
  if not oldest then break end
  total = drop(oldest)
end
redis.call('SET', ARGV[1] .. ARGV[2], ARGV[3], 'PX', ARGV[4])
redis.call('ZADD', index, now + tonumber(ARGV[4]), ARGV[2])
redis.call('HSET', sizes, ARGV[2], ARGV[5])
redis.call('HINCRBY', sizes, 'total', ARGV[5])
for _, key in ipairs(KEYS) do
  if redis.call('PTTL', key) < tonumber(ARGV[4]) then redis.call('PEXPIRE', key, ARGV[4]) end
end
return generation`;
/** Arguments: prefix, the generation that begins. */
const PURGE_SCRIPT = `${DROP}
redis.call('SET', purged, ARGV[2], 'PX', ${PURGE_KNOWN_MS})
local members = redis.call('ZRANGE', index, 0, 999)
for _, member in ipairs(members) do drop(member) end
return #members`;
const OCCUPIED_SCRIPT = `${NOW}
return {redis.call('ZCOUNT', KEYS[1], now, '+inf'), redis.call('HGET', KEYS[2], 'total') or 0}`;

/** The connection that all kept responses of this process share. */
export class ResponseRedis {
  readonly #redis: SharedRedis;
  readonly #clock: Clock;
  readonly #key: Buffer;
  readonly #opened: OpenedValues;

  constructor(url: string, secret: string, clock: Clock, silenceTimeoutMs: number) {
    this.#clock = clock;
    this.#opened = new OpenedValues(clock);
    this.#key = Buffer.from(hkdfSync("sha256", secret, "", "gatehouse kept responses", 32));
    const verify = async (client: { send(command: string, args: string[]): Promise<unknown> }) => {
      await client.send("PING", []);
    };
    this.#redis = new SharedRedis(url, { clock, silenceTimeoutMs, verify });
  }

  open(gatewayId: string, instanceId: string): ResponseBackend {
    return new RedisResponses(this.#redis, this.#key, this.#clock, this.#opened, gatewayId, instanceId);
  }

  close(): void {
    this.#redis.close();
  }
}

class RedisResponses implements ResponseBackend {
  readonly #redis: SharedRedis;
  readonly #key: Buffer;
  readonly #clock: Clock;
  readonly #opened: OpenedValues;
  readonly #prefix: string;
  readonly #keys: readonly [index: string, sizes: string, purged: string];
  #generation = "";

  constructor(
    redis: SharedRedis,
    key: Buffer,
    clock: Clock,
    opened: OpenedValues,
    gatewayId: string,
    instanceId: string,
  ) {
    this.#redis = redis;
    this.#opened = opened;
    this.#key = key;
    this.#clock = clock;
    const name = createHmac("sha256", key).update(instanceId).digest("base64url").slice(0, 22);
    this.#prefix = `gatehouse:{${gatewayId}}:responses:${name}:`;
    this.#keys = [`${this.#prefix}index`, `${this.#prefix}sizes`, `${this.#prefix}purged`];
  }

  /** That of the last reply of Redis. */
  get generation(): string {
    return this.#generation;
  }

  async get(key: string): Promise<KeptResponse | null> {
    const member = this.#memberOf(key);
    const redisKey = this.#prefix + member;
    if (!this.#redis.isConnectedFor(redisKey)) return null;
    try {
      const read = this.#redis.send(redisKey, "MGET", [redisKey, this.#keys[2]]);
      const reply = await withTimeout(READ_TIMEOUT_MS, read, createTimeoutError, this.#clock);
      const [value, generation] = elementsOf(reply);
      this.#noteGeneration(generation);
      const kept = this.#opened.get(redisKey, value, (sealed) => this.#open(sealed, member));
      return kept === null || kept.expiresAt <= this.#clock.unixNow() ? null : kept;
    } catch {
      return null;
    }
  }

  set(key: string, response: KeptResponse, maxBytes: number): void {
    const member = this.#memberOf(key);
    const value = this.#seal(response, member);
    const size = OVERHEAD_BYTES + value.length;
    const ttl = Math.max(1, Math.ceil(response.expiresAt - this.#clock.unixNow()));
    const args = [member, value, String(ttl), String(size), this.#generation, String(maxBytes)];
    if (size > maxBytes) return;
    void this.#run(SET_SCRIPT, args).then(
      (generation) => this.#noteGeneration(generation),
      () => undefined,
    );
  }

  /** In memory only: in Redis, each hit would read, decrypt and decompress the stream as well. */
  setStream(key: string, response: KeptResponse, kind: StreamKind, stream: Uint8Array): void {
    this.#opened.setStream(this.#prefix + this.#memberOf(key), response, kind, stream);
  }

  async purge(): Promise<number> {
    this.#opened.clear();
    const generation = randomBytes(IV_BYTES).toString("base64url");
    let purged = 0;
    for (;;) {
      const removed = Number(
        await withTimeout(
          ADMIN_TIMEOUT_MS,
          this.#run(PURGE_SCRIPT, [generation]),
          createTimeoutError,
          this.#clock,
        ),
      );
      this.#generation = generation;
      if (!(removed > 0)) return purged;
      purged += removed;
    }
  }

  async occupied(): Promise<Occupied> {
    try {
      const read = this.#run(OCCUPIED_SCRIPT, []);
      const reply = await withTimeout(ADMIN_TIMEOUT_MS, read, createTimeoutError, this.#clock);
      const [entries, bytes] = elementsOf(reply);
      return { entries: Number(entries ?? 0), bytes: Number(bytes ?? 0) };
    } catch {
      return { entries: 0, bytes: 0 };
    }
  }

  #run(script: string, args: readonly string[]): Promise<unknown> {
    const [index] = this.#keys;
    return this.#redis.send(index, "EVAL", [script, "3", ...this.#keys, this.#prefix, ...args]);
  }

  #noteGeneration(generation: unknown): void {
    this.#generation = typeof generation === "string" ? generation : "";
  }

  /** A keyed hash, so that the names of keys do not show which requests were made. */
  #memberOf(key: string): string {
    return createHmac("sha256", this.#key).update(key).digest("base64url");
  }

  #seal({ body, ...fields }: KeptResponse, member: string): string {
    const head = Buffer.from(JSON.stringify({ ...fields, streams: undefined }));
    const length = Buffer.alloc(4);
    length.writeUInt32BE(head.byteLength);
    const plain = Bun.zstdCompressSync(Buffer.concat([length, head, body]), { level: 1 });
    const iv = randomBytes(IV_BYTES);
    // Bound to its key: a value that is moved to another key in Redis is not used.
    const cipher = createCipheriv(ALGORITHM, this.#key, iv).setAAD(Buffer.from(member));
    return Buffer.concat([iv, cipher.update(plain), cipher.final(), cipher.getAuthTag()]).toString("base64");
  }

  /** Throws if the value was not sealed for this key. */
  #open(value: string, member: string): KeptResponse | null {
    const bytes = Buffer.from(value, "base64");
    const decipher = createDecipheriv(ALGORITHM, this.#key, bytes.subarray(0, IV_BYTES));
    decipher.setAAD(Buffer.from(member)).setAuthTag(bytes.subarray(-TAG_BYTES));
    const sealed = bytes.subarray(IV_BYTES, -TAG_BYTES);
    const plain = Bun.zstdDecompressSync(Buffer.concat([decipher.update(sealed), decipher.final()]));
    const end = 4 + plain.readUInt32BE(0);
    const fields: unknown = JSON.parse(plain.subarray(4, end).toString());
    if (!isJsonObject(fields)) return null;
    // Only processes with the same secret write values.
    const known = fields as unknown as Omit<KeptResponse, "body" | "streams">;
    // Values that earlier versions wrote have no `dropped`.
    return { ...known, dropped: known.dropped ?? [], body: plain.subarray(end), streams: new KeptStreams() };
  }
}

function elementsOf(reply: unknown): readonly unknown[] {
  return Array.isArray(reply) ? reply : [];
}

const createTimeoutError = () => new Error("Redis did not reply in time");
