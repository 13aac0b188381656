// Explains what plugins would do with a request when all others have run: which of them would respond with a kept response.
import { GatehouseError } from "../base/errors.ts";
import type { OutgoingResponse } from "../http/server/outgoing-response.ts";
import type { ExplainedPlugin } from "../model/explanation.ts";
import type { Exchange } from "../proxy/exchange.ts";
import { runFinalRequest, type FinalParts } from "../proxy/reuse/run-final-request.ts";
import type { ChainLink } from "../snapshot/chain-link.ts";
import { redact } from "../telemetry/log/redact.ts";

/** Returns the response or the error of a plugin that ends the request, or null. Completes what `plugins` says about the plugins. */
export async function explainFinalRequest(
  exchange: Exchange,
  links: readonly ChainLink[],
  plugins: ExplainedPlugin[],
  parts: FinalParts,
): Promise<OutgoingResponse | GatehouseError | null> {
  for (const link of links) {
    if (link.createForExplanation === null) continue;
    const explaining = { ...link, hooks: link.createForExplanation(() => undefined) };
    const end = await runOne(exchange, explaining, parts);
    const detail = exchange.pluginRuns?.at(-1)?.detail ?? null;
    const at = plugins.findIndex(({ name, stage }) => name === link.name && stage === "pre_request");
    const known = plugins[at];
    if (known !== undefined)
      plugins[at] = {
        ...known,
        verdict: end === null ? known.verdict : "answered",
        detail: detail === null ? known.detail : redact(detail),
      };
    if (end !== null) return end;
  }
  return null;
}

async function runOne(
  exchange: Exchange,
  link: ChainLink,
  parts: FinalParts,
): Promise<OutgoingResponse | GatehouseError | null> {
  try {
    return await runFinalRequest(exchange, [link], parts);
  } catch (error) {
    if (error instanceof GatehouseError) return error;
    throw error;
  }
}
