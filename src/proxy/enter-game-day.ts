// Finds out whether a game day affects a request, and counts the requests of gateways with one.
import type { ValueOrPromise } from "../base/value-or-promise.ts";
import type { CoarseDeadlines } from "../http/coarse-deadlines.ts";
import type { GameDays } from "../runtime/game-days/game-days.ts";
import type { CompiledGameDay } from "../snapshot/compiled-game-day.ts";
import type { Outcome } from "../telemetry/requests/request-facts.ts";
import type { Exchange } from "./exchange.ts";
import { GameDayRequest, isDrawn } from "./game-day-request.ts";

interface GameDayParts {
  readonly gameDays: GameDays;
  readonly deadlines: CoarseDeadlines;
}

/** Whether the request is one that the game day is about. */
export function isMatched(exchange: Exchange, gameDay: CompiledGameDay): boolean {
  const { rule, apiKey, fields, request } = exchange;
  if (rule === null) return false;
  const headerOf = (name: string) => request.headers.get(name);
  return gameDay.matches({ ruleId: rule.id, apiKey, model: fields.model, headerOf });
}

/** Sets `exchange.gameDay` if a game day affects the request. */
export function enterGameDay(
  exchange: Exchange,
  { gameDays, deadlines }: GameDayParts,
): ValueOrPromise<null> {
  const { gateway } = exchange;
  const run = gateway === null ? null : gameDays.runOf(gateway);
  if (run === null || !isMatched(exchange, run.gameDay) || !isDrawn(run.gameDay.record.match.share))
    return null;
  return run.admit().then((isAdmitted) => {
    if (isAdmitted) exchange.gameDay = new GameDayRequest(run, exchange, deadlines);
    return null;
  });
}

/** Counts a request of a gateway with a game day. `now` is the time of the exchange's clock. */
export function countForGameDay(
  exchange: Exchange,
  gameDays: GameDays,
  outcome: Outcome,
  status: number,
  now: number,
): void {
  const { gateway, gameDay, startedAt, attempts } = exchange;
  const run = gameDay?.run ?? (gateway === null ? null : gameDays.runOf(gateway));
  if (run === null || outcome === "client_left") return;
  const succeeded = outcome === "complete" && status < 400;
  const request = {
    succeeded,
    failed: status >= 500 || outcome === "incomplete" || outcome === "failed",
    failedOver: succeeded && attempts > 1,
    durationMs: now - startedAt,
  };
  run.record(request, gameDay?.faults ?? []);
}
