// Which epoch the data of each gateway in Redis is of. A new epoch begins when Redis may have lost data: it has none, or another process
// of Redis (restarted from a file, or promoted) serves it. Without the right to INFO, each new connection may lead to another one.
import type { RedisSession } from "../redis/redis-connection.ts";
import type { SharedRedis } from "../redis/shared-redis.ts";
import { epochKey, microseconds } from "./redis-ledger-calls.ts";
import { EPOCH_SCRIPT } from "./redis-account-scripts.ts";

interface GatewayEpoch {
  readonly id: string;
  /** Unix milliseconds of Redis's clock. */
  readonly since: number;
}

interface KnownEpoch extends GatewayEpoch {
  /** The connection on which it was read; null if Redis has replied that it is over. */
  session: RedisSession | null;
}

/** Another epoch than the one that this process knew. */
export interface EpochLoss {
  readonly gatewayId: string;
  /** Until when the data of Redis reaches, in Unix milliseconds of its clock; 0 if it had none. */
  readonly keptUntil: number;
}

/** Redis may have lost data since an epoch that a command was bound to. It had no effect. */
export class EpochOver extends Error {
  override readonly name = "EpochOver";
}

interface EpochParts {
  readonly redis: SharedRedis;
  /** Milliseconds to use instead of Redis's clock; 0 for that. */
  readonly time: () => number;
  readonly onLost: (loss: EpochLoss) => void;
}

export class RedisEpochs {
  readonly #parts: EpochParts;
  /** By gateway. The epoch that is over stays, to notice another one. */
  readonly #known = new Map<string, KnownEpoch>();
  readonly #joining = new Map<string, Promise<GatewayEpoch>>();

  constructor(parts: EpochParts) {
    this.#parts = parts;
  }

  /** Returns the epoch of a gateway, if it was read on the connection that is in use; else null. */
  current(gatewayId: string): GatewayEpoch | null {
    const known = this.#known.get(gatewayId);
    if (known === undefined || known.session === null) return null;
    return known.session === this.#parts.redis.sessionOf(epochKey(gatewayId)) ? known : null;
  }

  /** Reads the epoch, or begins a new one. Rejects as SharedRedis does. */
  join(gatewayId: string): Promise<GatewayEpoch> {
    let joining = this.#joining.get(gatewayId);
    if (joining !== undefined) return joining;
    joining = this.#join(gatewayId).finally(() => this.#joining.delete(gatewayId));
    this.#joining.set(gatewayId, joining);
    return joining;
  }

  /** Call when Redis has rejected this epoch. */
  end(gatewayId: string, id: string): void {
    const known = this.#known.get(gatewayId);
    if (known?.id === id) known.session = null;
  }

  async #join(gatewayId: string): Promise<GatewayEpoch> {
    const key = epochKey(gatewayId);
    const { redis, time, onLost } = this.#parts;
    let session: RedisSession | null = null;
    const known = this.#known.get(gatewayId);
    const reply = await redis.send(key, "EVAL", (used) => {
      session = used;
      // A Redis without a name may be another one after each connection. The epoch of another process on this connection is newer.
      const isNew = known === undefined || (known.session !== null && known.session !== used);
      const isSuspect = used.server === "" && isNew ? "1" : "0";
      return [EPOCH_SCRIPT, "1", key, microseconds(time()), used.server, crypto.randomUUID(), isSuspect];
    });
    const [id, since, before] = Array.isArray(reply) ? reply.map(String) : [];
    if (id === undefined) throw new Error("unexpected reply of the epoch script");
    const previous = this.#known.get(gatewayId);
    const epoch = { id, since: Number(since) / 1000, session };
    this.#known.set(gatewayId, epoch);
    if (previous !== undefined && previous.id !== id) onLost({ gatewayId, keptUntil: Number(before) / 1000 });
    return epoch;
  }
}
