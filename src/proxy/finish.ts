// The end of every request, exactly once: its access line, and the use of its key.
import type { Log } from "../telemetry/log.ts";
import type { Exchange, Outcome } from "./exchange.ts";
import type { InFlight } from "./in-flight.ts";
import { runPostResponse, type PluginParts } from "./run-plugins.ts";

export interface FinishParts extends PluginParts {
  readonly log: Log;
  readonly recordKeyUse: (apiKeyId: string) => void;
  readonly inFlight: InFlight;
}

export function finish(exchange: Exchange, outcome: Outcome, status: number, parts: FinishParts): void {
  const { log, recordKeyUse } = parts;
  if (exchange.finished) return;
  exchange.finished = true;
  exchange.release();
  parts.inFlight.leave();
  const { apiKey, gateway, rule, answer } = exchange;
  if (apiKey !== null) recordKeyUse(apiKey.id);
  log.info(
    {
      plane: "proxy",
      request_id: exchange.requestId,
      method: exchange.method,
      path: exchange.path,
      status,
      outcome,
      gateway: gateway?.gateway.name,
      rule: rule?.id,
      api_key: apiKey?.name,
      provider: answer?.target.provider,
      model: answer?.model ?? undefined,
      attempts: exchange.attempts,
      ms: round(performance.now() - exchange.startedAt),
      first_byte_ms: answer === null ? undefined : round(answer.firstByteMs),
    },
    "request",
  );
  const chain = gateway?.chain ?? null;
  if (chain !== null && chain.post_response !== null && rule !== null)
    runPostResponse(exchange, chain, parts, outcome, status);
}

function round(milliseconds: number): number {
  return Math.round(milliseconds * 100) / 100;
}
