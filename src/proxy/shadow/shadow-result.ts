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
  const observed =
    outcome === "responded"
      ? `would respond with status ${response?.status ?? 0}${codeOf(errorCode)}`
      : outcome === "changed"
        ? `would change ${changes.length === 0 ? "the response" : changes.join(", ")}`
        : outcome === "passed"
          ? null
          : messageOf(error);
  const detail = [observed, run.detail].filter((text) => text !== null).join(": ");
  return {
    outcome,
    status: outcome === "responded" ? (response?.status ?? null) : null,
    detail: detail === "" ? null : detail,
    ms: run.ms,
    agrees: null,
  };
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

function codeOf(code: string | null): string {
  return code === null ? "" : ` (${code})`;
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
