// Turns what a hook did on a copy into the result that is recorded.
import type { ShadowOutcome, ShadowResult } from "../../telemetry/requests/shadow-report.ts";
import type { OutgoingResponse } from "../../http/server/outgoing-response.ts";
import { HookTimeout } from "../call-hook.ts";
import type { PluginRun } from "../../telemetry/metrics/observed-plugin.ts";

/** `errorCode` is that of the response. `changes` names what the hook has changed. */
export function resultOf(
  run: PluginRun,
  errorCode: string | null,
  response: Pick<OutgoingResponse, "status"> | null,
  changes: readonly string[],
): ShadowResult {
  const { error } = run;
  const outcome = outcomeOf(run.verdict, error, response);
  const status = outcome === "responded" ? (response?.status ?? null) : null;
  const detail =
    status !== null
      ? detailOfResponse(status, errorCode, run.detail)
      : outcome === "changed"
        ? withDetail(`would change ${changes.length === 0 ? "the response" : changes.join(", ")}`, run.detail)
        : outcome === "passed"
          ? run.detail
          : withDetail(messageOf(error), run.detail);
  return { outcome, status, detail: detail === "" ? null : detail, ms: run.ms, agrees: null };
}

/** The detail of the last response. A plugin that rejects many requests does so for few reasons. */
let last = { status: 0, errorCode: "", given: "", detail: "" };

function detailOfResponse(status: number, errorCode: string | null, given: string | null): string {
  if (last.status !== status || last.errorCode !== errorCode || last.given !== given) {
    const code = errorCode === null ? "" : ` (${errorCode})`;
    const detail = withDetail(`would respond with status ${status}${code}`, given);
    if (errorCode === null || given === null) return detail;
    last = { status, errorCode, given, detail };
  }
  return last.detail;
}

function withDetail(observed: string, given: string | null): string {
  return given === null ? observed : `${observed}: ${given}`;
}

function outcomeOf(
  verdict: PluginRun["verdict"],
  error: unknown,
  response: Pick<OutgoingResponse, "status"> | null,
): ShadowOutcome {
  if (verdict === "failed") return error instanceof HookTimeout ? "timed_out" : "failed";
  if (response !== null) return "responded";
  return verdict === "changed" ? "changed" : "passed";
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
