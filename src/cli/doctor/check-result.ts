// The result of one check of gatehouse doctor.

export interface CheckResult {
  readonly name: string;
  readonly state: "ok" | "warn" | "fail";
  readonly detail: string;
  /** How to fix the problem; null if there is none. */
  readonly fix: string | null;
}

export function ok(name: string, detail: string): CheckResult {
  return { name, state: "ok", detail, fix: null };
}

export function warn(name: string, detail: string, fix: string): CheckResult {
  return { name, state: "warn", detail, fix };
}

export function fail(name: string, detail: string, fix: string): CheckResult {
  return { name, state: "fail", detail, fix };
}
