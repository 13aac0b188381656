// The Server-Timing header: where the time until the response headers went. Every response has it, so it uses times that are
// measured anyway and formats them cheaply.
import type { HeaderFields } from "../http/header-fields.ts";
import { LineWriter } from "../http/line-writer.ts";
import type { Exchange } from "./exchange.ts";
import type { TargetResponse } from "./target-response.ts";

/** Written synchronously, so that all responses share a writer. */
const writer = new LineWriter();

/** Returns an entry for each part that has happened so far. `response` is null if no provider's response is relayed. */
export function serverTiming(exchange: Exchange, response: TargetResponse | null, now: number): string {
  const { startedAt, authMs, body, upload, bodyMs, pluginRuns, translateMs } = exchange;
  writer.begin();
  write("total;dur=", now - startedAt);
  // Everything before the body is read serves to find the gateway and the rule, and to check the API key.
  write(", auth;dur=", authMs ?? now - startedAt);
  if (body !== null || upload !== null) write(", body;dur=", bodyMs - (authMs ?? 0));
  if (pluginRuns !== null) for (const { timingStart, ms } of pluginRuns) write(timingStart, ms);
  if (translateMs > 0) write(", translate;dur=", translateMs);
  if (response === null) writeFailedAttempt(exchange, now);
  else {
    const { queueMs } = response.upstreamResponse;
    if (queueMs > 0) write(", queue;dur=", queueMs);
    write(", upstream;dur=", response.firstByteMs);
  }
  return writer.finish();
}

function write(start: string, milliseconds: number): void {
  writer.text(start);
  writer.tenths(milliseconds);
}

/** Writes the entry of the last attempt if it had no response that could be relayed. */
function writeFailedAttempt({ attemptFacts }: Exchange, now: number): void {
  const attempt = attemptFacts.at(-1);
  if (attempt !== undefined) write(", upstream;dur=", (attempt.endedAt ?? now) - attempt.startedAt);
}

/**
 * Replaces the entries in `headers` by current ones, unless a plugin has changed the header. `before` is what
 * `serverTiming` returned; entries of the provider precede it.
 */
export function updateServerTiming(
  headers: HeaderFields,
  before: string,
  exchange: Exchange,
  response: TargetResponse,
): void {
  const value = headers.get("server-timing");
  if (value === null || !value.endsWith(before)) return;
  const current = serverTiming(exchange, response, exchange.clock.now());
  headers.set("Server-Timing", value.slice(0, value.length - before.length) + current);
}
