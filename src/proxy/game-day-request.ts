// One request that a game day affects: which faults its attempts get, and which were injected.
import type { BalancePlan } from "../balance/balance-plan.ts";
import { formatOfChatPath } from "../formats/registry.ts";
import type { CoarseDeadlines } from "../http/coarse-deadlines.ts";
import type { Fault, FaultType } from "../model/game-day.ts";
import type { GameDayRun } from "../runtime/game-days/game-day-run.ts";
import type { CompiledTarget } from "../snapshot/compile-upstream.ts";
import { FaultyClient } from "../upstream/faults/faulty-client.ts";
import type { UpstreamClient } from "../upstream/upstream-client.ts";

/** What applies to the handshake of a WebSocket, and to requests whose response is not a stream. */
const HANDSHAKE_FAULTS: ReadonlySet<FaultType> = new Set(["refuse", "delay", "status"]);

/** The part of an exchange that decides which faults apply. */
interface FaultedExchange {
  /** How many attempts were made before. */
  readonly attempts: number;
  readonly fields: { readonly wantsStream: boolean };
  readonly handshake: object | null;
  setResponseHeader(name: string, value: string): void;
}

export class GameDayRequest {
  readonly run: GameDayRun;
  readonly #exchange: FaultedExchange;
  readonly #deadlines: CoarseDeadlines;
  /** The types of the faults that were injected, in order. */
  readonly faults: FaultType[] = [];
  /** Redis is unavailable to this request. */
  readonly #lacksRedis: boolean;

  constructor(run: GameDayRun, exchange: FaultedExchange, deadlines: CoarseDeadlines) {
    this.run = run;
    this.#exchange = exchange;
    this.#deadlines = deadlines;
    this.#lacksRedis = run.gameDay.record.faults.some(
      ({ type, share }) => type === "redis_away" && isDrawn(share),
    );
  }

  get isAffected(): boolean {
    return this.faults.length > 0;
  }

  /** A WebSocket may stay open long after the game day. What its model generates then is billed. */
  get isSocketFree(): boolean {
    return this.isAffected && this.run.isInjecting;
  }

  planOf(plan: BalancePlan): BalancePlan {
    return this.run.planOf(plan);
  }

  /** Returns the client for the next attempt. `path` is that of the request to the target. */
  clientFor(target: CompiledTarget, path: string, client: UpstreamClient): UpstreamClient {
    const fault = this.#faultFor(target);
    if (fault === null || !this.run.isInjecting) return client;
    this.#inject(fault.type);
    const end = path.indexOf("?");
    return new FaultyClient({
      client,
      deadlines: this.#deadlines,
      fault,
      format: (formatOfChatPath(end < 0 ? path : path.slice(0, end)) ?? target.format).name,
      wantsStream: this.#exchange.fields.wantsStream,
      stopped: this.run.stopped,
    });
  }

  /** Returns whether limits and budgets are to be decided as if Redis were unavailable, and counts the fault. Call only where Redis is used. */
  injectRedisOutage(): boolean {
    if (!this.#lacksRedis || !this.run.isInjecting) return false;
    if (!this.faults.includes("redis_away")) this.#inject("redis_away");
    return true;
  }

  #faultFor({ id }: CompiledTarget): Fault | null {
    const { attempts, fields, handshake } = this.#exchange;
    const applies = ({ type, target_ids, attempts: most, share }: Fault) => {
      if (type === "redis_away" || (handshake !== null && !HANDSHAKE_FAULTS.has(type))) return false;
      if (type === "error_event" && !fields.wantsStream) return false;
      if (target_ids.length > 0 && !target_ids.includes(id)) return false;
      return (most === null || attempts < most) && isDrawn(share);
    };
    return this.run.gameDay.record.faults.find(applies) ?? null;
  }

  #inject(type: FaultType): void {
    this.faults.push(type);
    this.#exchange.setResponseHeader("X-GW-Fault", this.faults.join(", "));
  }
}

/** Draws at random whether one request or attempt belongs to the share, which is from 0 to 1. */
export function isDrawn(share: number): boolean {
  return share >= 1 || Math.random() < share;
}
