// The Server-Timing header: where the time until the response headers went. Every response has it, so it uses times that are
// measured anyway and formats them cheaply.
import type { HeaderFields } from "../http/header-fields.ts";
import type { Exchange } from "./exchange.ts";
import type { TargetResponse } from "./target-response.ts";

/** Texts of `0.0` to `99.9`: a lookup costs a fraction of formatting, and most durations are that short. */
const TENTHS = Array.from({ length: 1000 }, (_, count) => formatCount(count));

/** Formats with one decimal. */
function formatTenths(milliseconds: number): string {
  const count = Math.round(milliseconds * 10);
  return TENTHS[count] ?? formatCount(count);
}

/** Not a template: its parts would be joined again in every response. */
function formatCount(count: number): string {
  return (count / 10).toFixed(1);
}

/** Returns an entry for each part that has happened so far. `response` is null if no provider's response is relayed. */
export function serverTiming(exchange: Exchange, response: TargetResponse | null, now: number): string {
  const { startedAt, authMs, body, upload, bodyMs, pluginRuns, translateMs } = exchange;
  const total = formatTenths(now - startedAt);
  // Everything before the body is read serves to find the gateway and the rule, and to check the API key.
  let text = `total;dur=${total}, auth;dur=${authMs === null ? total : formatTenths(authMs)}`;
  if (body !== null || upload !== null) text += `, body;dur=${formatTenths(bodyMs - (authMs ?? 0))}`;
  if (pluginRuns !== null)
    for (const { timingStart, ms } of pluginRuns) text += timingStart + formatTenths(ms);
  if (translateMs > 0) text += `, translate;dur=${formatTenths(translateMs)}`;
  if (response === null) return text + failedAttempt(exchange, now);
  const { queueMs } = response.upstreamResponse;
  if (queueMs > 0) text += `, queue;dur=${formatTenths(queueMs)}`;
  return `${text}, upstream;dur=${formatTenths(response.firstByteMs)}`;
}

/** Returns the entry of the last attempt if it had no response that could be relayed. */
function failedAttempt({ attemptFacts }: Exchange, now: number): string {
  const attempt = attemptFacts.at(-1);
  if (attempt === undefined) return "";
  return `, upstream;dur=${formatTenths((attempt.endedAt ?? now) - attempt.startedAt)}`;
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
