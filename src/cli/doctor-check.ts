// What the doctor says of one thing: fine, doubtful or broken, and what to do about it.

export interface Check {
  readonly name: string;
  readonly state: "ok" | "warn" | "fail";
  readonly detail: string;
  /** What to do about it. */
  readonly mend: string | null;
}

export const ok = (name: string, detail: string): Check => ({ name, state: "ok", detail, mend: null });
export const warn = (name: string, detail: string, mend: string): Check => ({
  name,
  state: "warn",
  detail,
  mend,
});
export const fail = (name: string, detail: string, mend: string): Check => ({
  name,
  state: "fail",
  detail,
  mend,
});
