// Whether a game day runs, from its record and what nodes wrote about it.
import type { GameDayFields } from "../../model/game-day.ts";

export const GAME_DAY_PHASES = ["scheduled", "running", "ended", "stopped", "aborted"] as const;

type GameDayPhase = (typeof GAME_DAY_PHASES)[number];

export function phaseOf(
  { enabled, starts_at, ends_at }: Pick<GameDayFields, "enabled" | "starts_at" | "ends_at">,
  isAborted: boolean,
  now: number,
): GameDayPhase {
  if (isAborted) return "aborted";
  if (!enabled) return "stopped";
  if (now >= Date.parse(ends_at)) return "ended";
  return starts_at !== null && now < Date.parse(starts_at) ? "scheduled" : "running";
}
