// Compares what was counted during a game day with what its record expects.
import type { GameDayFields } from "../../model/game-day.ts";
import { p99Of, type GameDayCounts } from "./game-day-counts.ts";

interface Check {
  readonly check: "min_requests" | "success_ratio" | "failover_ratio" | "p99_ms" | "not_aborted";
  /** Null for `not_aborted`. */
  readonly expected: number | null;
  /** Null if it is not known. */
  readonly actual: number | null;
  readonly passed: boolean;
}

export function checksOf(
  { expect }: Pick<GameDayFields, "expect">,
  { affected }: GameDayCounts,
  isAborted: boolean,
): Check[] {
  const { requests, succeeded, failed_over } = affected;
  const checks: Check[] = [
    { check: "not_aborted", expected: null, actual: null, passed: !isAborted },
    atLeast("min_requests", expect.min_requests, requests),
  ];
  const ratio = (count: number) => (requests === 0 ? null : count / requests);
  if (expect.success_ratio !== null)
    checks.push(atLeast("success_ratio", expect.success_ratio, ratio(succeeded)));
  if (expect.failover_ratio !== null)
    checks.push(atLeast("failover_ratio", expect.failover_ratio, ratio(failed_over)));
  if (expect.p99_ms !== null) {
    const actual = p99Of(affected);
    checks.push({
      check: "p99_ms",
      expected: expect.p99_ms,
      actual,
      passed: actual !== null && actual <= expect.p99_ms,
    });
  }
  return checks;
}

function atLeast(check: Check["check"], expected: number, actual: number | null): Check {
  return { check, expected, actual, passed: actual !== null && actual >= expected };
}
