// The token limit that a client sees in the header fields of OpenAI: that of the gateway instead of the provider's.
import type { HeaderFields } from "../http/header-fields.ts";
import type { TokenLimitState } from "../sdk/index.ts";
import type { Exchange } from "./exchange.ts";

const PREFIX = "x-ratelimit-";

/** Of several limits, the one with the fewest tokens left counts. */
export function reportTokenLimit(exchange: Exchange, state: TokenLimitState): void {
  const { tokenLimit, clock } = exchange;
  if (tokenLimit !== null && tokenLimit.remaining <= state.remaining) return;
  exchange.tokenLimit = state;
  exchange.setResponseHeader("x-ratelimit-limit-tokens", String(state.limit));
  exchange.setResponseHeader("x-ratelimit-remaining-tokens", String(state.remaining));
  const seconds = Math.max(0, Math.ceil(state.resetAt - clock.unixNow() / 1000));
  exchange.setResponseHeader("x-ratelimit-reset-tokens", durationOf(seconds));
}

/** Moves the provider's own fields out of the way. `headers` are those of the provider that the client gets. */
export function moveProviderRateLimits(headers: HeaderFields): void {
  for (const name of headers.names.filter((each) => each.startsWith(PREFIX))) {
    const value = headers.get(name);
    headers.delete(name);
    if (value !== null) headers.set(`X-GW-Provider-RateLimit-${name.slice(PREFIX.length)}`, value);
  }
}

/** Formats seconds as OpenAI does: `6m0s`, `1h0m5s`, `59s`. */
function durationOf(seconds: number): string {
  const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor((seconds % 3600) / 60)];
  const parts = hours > 0 ? `${hours}h${minutes}m` : minutes > 0 ? `${minutes}m` : "";
  return `${parts}${seconds % 60}s`;
}
