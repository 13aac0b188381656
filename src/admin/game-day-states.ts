// The state of a game day: how many requests are affected on all nodes, whether it was aborted, and its verdict.
import { z } from "zod";
import { FAULT_TYPES, type GameDay } from "../model/game-day.ts";
import {
  addCounts,
  noCounts,
  p99Of,
  parseCounts,
  type RequestCounts,
} from "../runtime/game-days/game-day-counts.ts";
import { GAME_DAY_PHASES, phaseOf } from "../runtime/game-days/game-day-phase.ts";
import { checksOf } from "../runtime/game-days/verdict.ts";
import type { GameDayStore } from "../store/sql-game-days.ts";

const count = z.int().min(0);

const requestsSchema = z.object({
  requests: count,
  succeeded: count.meta({ description: "Complete responses below 400." }),
  failed: count.meta({ description: "Status 5xx, or an incomplete response." }),
  failed_over: count.meta({ description: "Succeeded at another attempt than the first." }),
  p99_ms: z.int().nullable().meta({ description: "99th percentile of the duration, at most 5 % too high." }),
});

export const gameDayStateSchema = z.object({
  phase: z.enum(GAME_DAY_PHASES),
  affected: requestsSchema.meta({ description: "Requests that got a fault, on all nodes." }),
  others: requestsSchema.meta({ description: "The other requests of the gateway meanwhile." }),
  by_fault: z
    .partialRecord(z.enum(FAULT_TYPES), count)
    .meta({ description: "Affected requests by the type of the fault." }),
  aborted: z
    .object({ at: z.iso.datetime(), reason: z.string() })
    .nullable()
    .meta({ description: "Why `abort_if` stopped the game day." }),
  verdict: z
    .enum(["pending", "passed", "failed"])
    .meta({ description: "Pending until the game day is over." }),
  checks: z.array(
    z.object({
      check: z.enum(["not_aborted", "min_requests", "success_ratio", "failover_ratio", "p99_ms"]),
      expected: z.number().nullable(),
      actual: z.number().nullable(),
      passed: z.boolean(),
    }),
  ),
});

type GameDayState = z.output<typeof gameDayStateSchema>;

export async function readGameDayState(
  store: GameDayStore,
  record: GameDay,
  now: number,
): Promise<GameDayState> {
  const [run, written] = await Promise.all([store.readRun(record.id), store.readCounts(record.id)]);
  const counts = noCounts();
  for (const each of written) addCounts(counts, parseCounts(each.counts));
  const { abortedAt = null, abortReason = null } = run ?? {};
  const phase = phaseOf(record, abortedAt !== null, now);
  const checks = checksOf(record, counts, abortedAt !== null);
  const isOver = phase !== "scheduled" && phase !== "running";
  return {
    phase,
    affected: shown(counts.affected),
    others: shown(counts.others),
    by_fault: counts.by_fault,
    aborted: abortedAt === null ? null : { at: abortedAt, reason: abortReason ?? "" },
    verdict: !isOver ? "pending" : checks.every(({ passed }) => passed) ? "passed" : "failed",
    checks,
  };
}

function shown({ requests, succeeded, failed, failed_over, ...counts }: RequestCounts) {
  const p99_ms = p99Of({ requests, succeeded, failed, failed_over, ...counts });
  return { requests, succeeded, failed, failed_over, p99_ms };
}
