// Records what a plugin in shadow mode would have done with a request.
import type { ShadowLink } from "../../snapshot/shadow-chain.ts";
import { redact } from "../../telemetry/log/redact.ts";
import type { ShadowResult } from "../../telemetry/requests/shadow-report.ts";
import { truncateText } from "../../telemetry/truncate-text.ts";
import type { Exchange } from "../exchange.ts";
import type { PluginParts } from "../plugin-call.ts";

export const SKIPPED: ShadowResult = { outcome: "skipped", status: null, detail: null, ms: 0, agrees: null };

/** Records a result in the report of the entry, in the metrics and in the request log. */
export function report(
  exchange: Exchange,
  link: ShadowLink,
  result: ShadowResult,
  { observation }: PluginParts,
): void {
  const { name, stage } = link;
  const detail = result.detail === null ? null : redactDetail(result.detail);
  const gateway = exchange.gateway?.gateway.name ?? "";
  observation.routes.plugin(link, gateway, name, stage).countShadow(result.outcome);
  const { outcome, status, ms, agrees } = result;
  const run = { name, stage, outcome, status, detail, ms, agrees };
  exchange.shadow?.runs.push(run);
  link.report.add(run, exchange.requestId, exchange.clock.unixNow());
}

/** Many requests in succession have the same detail. */
let lastDetail = { given: "", redacted: "" };

/** What a plugin throws may contain anything. */
function redactDetail(given: string): string {
  if (given !== lastDetail.given) {
    const redacted = truncateText(redact(given));
    // Long texts are not kept.
    if (redacted.length < given.length) return redacted;
    lastDetail = { given, redacted };
  }
  return lastDetail.redacted;
}

/** Logs that the result of a plugin could not be determined. */
export function logError(error: unknown, exchange: Exchange, link: ShadowLink, { log }: PluginParts): void {
  log.error({ request_id: exchange.requestId, plugin: link.name, err: error }, "shadow result not recorded");
}
