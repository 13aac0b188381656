// Values of the form of a game day.
import type { GameDay } from "../api/types.ts";
import { copyOf } from "./copy.ts";

export type Fault = GameDay["faults"][number];
export type GameDayDraft = Omit<GameDay, "id" | "gateway_id" | "created_at" | "updated_at" | "warnings">;

const DEFAULT_MINUTES = 10;

/** Short descriptions of what the gateway sees, in the order of the API. */
export const FAULT_TYPES: Readonly<Record<Fault["type"], string>> = {
  refuse: "The connection is refused",
  delay: "The response starts later",
  status: "An error response",
  cut: "The connection breaks",
  stall: "Nothing more arrives",
  slow: "A pause before each event",
  error_event: "The stream reports an error",
  empty: "No body",
  truncated_json: "Half of the JSON",
  missing_usage: "No token counts",
  redis_away: "Redis is unavailable",
};

/** Returns a fault of this type. What the fault before applied to is kept; its other fields may be invalid with this type. */
export function faultOf(type: Fault["type"], before?: Fault): Fault {
  return {
    type,
    ms: type === "delay" || type === "slow" ? 1000 : null,
    status: type === "status" ? 503 : null,
    retry_after: null,
    after_events: 0,
    target_ids: type === "redis_away" ? [] : (before?.target_ids ?? []),
    attempts: type === "redis_away" ? null : (before?.attempts ?? null),
    share: before?.share ?? 1,
  };
}

export const DEFAULT_ABORT: NonNullable<GameDay["abort_if"]> = {
  requests: "others",
  error_ratio: 0.05,
  p99_ms: null,
  min_requests: 20,
};

/** The values of a new game day. It affects only requests with a header, until this is changed. */
function newDraft(now: number): GameDayDraft {
  return {
    name: "",
    enabled: true,
    ...timesOf(now),
    match: { rules: [], keys: [], labels: {}, models: [], headers: { "x-game-day": "*" }, share: 1 },
    max_requests: 100,
    faults: [faultOf("refuse")],
    abort_if: DEFAULT_ABORT,
    expect: { success_ratio: 0.99, failover_ratio: null, p99_ms: null, min_requests: 1 },
    isolated: true,
  };
}

function timesOf(now: number): Pick<GameDayDraft, "starts_at" | "ends_at"> {
  return { starts_at: null, ends_at: new Date(now + DEFAULT_MINUTES * 60_000).toISOString() };
}

/** `copied` is the game day that a new one begins as a copy of: with its fields, but now. */
export function toGameDayDraft(
  stored: GameDay | undefined,
  copied: GameDay | null,
  now: number,
): GameDayDraft {
  if (stored === undefined)
    return copied === null
      ? newDraft(now)
      : { ...copyOf(copied, copied.name), enabled: true, ...timesOf(now) };
  const { name, enabled, starts_at, ends_at, match, max_requests, faults, abort_if, expect, isolated } =
    stored;
  return { name, enabled, starts_at, ends_at, match, max_requests, faults, abort_if, expect, isolated };
}
