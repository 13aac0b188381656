// Says whether a game day would affect a request.
import type { Explanation } from "../model/explanation.ts";
import type { Exchange } from "../proxy/exchange.ts";
import { isMatched } from "../proxy/enter-game-day.ts";

/** Returns null if no game day runs that is about the request. `now` is in Unix milliseconds. */
export function gameDayFor(exchange: Exchange, now: number): Explanation["game_day"] {
  const running = exchange.gateway?.gameDays?.find(({ startsAt, endsAt }) => startsAt <= now && now < endsAt);
  if (running === undefined || !isMatched(exchange, running)) return null;
  const { id, name, match, faults } = running.record;
  return { id, name, share: match.share, faults: [...new Set(faults.map(({ type }) => type))] };
}
