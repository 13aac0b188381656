// Explains what plugins in shadow mode would do with a request: runs them on copies, without side effects.
import type { ValueOrPromise } from "../base/value-or-promise.ts";
import type { Claim, Refusal, Reservation } from "../ledger/ledger.ts";
import type { ExplainedPlugin } from "../model/explanation.ts";
import type { ChainLink } from "../snapshot/chain-link.ts";
import type { Exchange } from "../proxy/exchange.ts";
import type { ClaimParts } from "../proxy/limits/reserve-claims.ts";
import type { PluginParts } from "../proxy/plugin-call.ts";
import { copyExchange } from "../proxy/shadow/shadow-copy.ts";
import { resultOfCall, runPreRequestOn } from "../proxy/shadow/shadow-pre-request.ts";
import type { ShadowLink } from "../snapshot/shadow-chain.ts";
import type { ShadowOutcome } from "../telemetry/requests/shadow-report.ts";
import { redact } from "../telemetry/log/redact.ts";

export interface ShadowParts {
  /** Compares claims with the ledger. Unlike `reserveInLedger`, the explanation does not list them as limits of the request. */
  readonly peekLedger: (
    exchange: Exchange,
    claims: readonly Claim[],
  ) => ValueOrPromise<Reservation | Refusal>;
}

const VERDICTS: Readonly<Record<ShadowOutcome, ExplainedPlugin["verdict"]>> = {
  passed: "passed",
  changed: "changed",
  responded: "answered",
  failed: "failed",
  timed_out: "failed",
  skipped: "not_run",
};

/** Explains the shadow plugins that run before the enforced plugin at `position`. */
export async function explainShadows(
  exchange: Exchange,
  links: readonly ShadowLink[],
  position: number,
  parts: PluginParts & ClaimParts & ShadowParts,
): Promise<ExplainedPlugin[]> {
  const explained: ExplainedPlugin[] = [];
  for (const link of links) {
    if (link.position !== position) continue;
    const { name, stage } = link;
    if (link.createForExplanation === null) {
      explained.push({
        name,
        stage,
        verdict: "not_run",
        detail: "not marked as explainable, so it was not run",
        ...isolationOf(link),
      });
      continue;
    }
    const hooks = link.createForExplanation(() => undefined);
    const quiet = { ...parts, reserveInLedger: parts.peekLedger };
    const result = resultOfCall(
      await runPreRequestOn(copyExchange(exchange), { ...link, hooks }, quiet, null),
    );
    const detail = result.detail === null ? "has no effect" : `${redact(result.detail)}; has no effect`;
    explained.push({ name, stage, verdict: VERDICTS[result.outcome], detail, ...isolationOf(link) });
  }
  return explained;
}

/** Returns the field of an explanation that names the isolation; none if the plugin runs inline. */
export function isolationOf({ isolation }: Pick<ChainLink, "isolation">): Pick<ExplainedPlugin, "isolation"> {
  return isolation === "inline" ? {} : { isolation };
}
