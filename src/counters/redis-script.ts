// The Lua scripts that decide in Redis: their text, arguments, and reply.
import { digestName } from "../base/digest-name.ts";
import type { Decision, Limit, LimitState } from "./counters.ts";

/**
 * A key is a list: the longest window (µs) and the highest limit used with it, then the times (µs) of counted requests,
 * oldest first. A list takes 10 bytes per request, a sorted set 100. A list is trimmed at one end and extended at the
 * other, and it can hold two requests of the same microsecond without unique member names.
 *
 * Nothing is written before all limits have been checked, and RPUSH is the first write: a Redis that cannot write
 * (replica, out of memory) fails there, with nothing partially counted. A rejected request writes nothing.
 *
 * ARGV[1] is the time in µs, or 0 for Redis's own clock, as in production. Then follow a limit and a window in µs per key.
 * The reply is the number of the first exhausted limit (0: admitted), then for each limit: the requests counted in the
 * window before this one, the reset time in µs, and the wait in µs.
 */
const MEASURE = `
local HEADER = 2
local now = tonumber(ARGV[1])
if now == 0 then
  local time = redis.call('TIME')
  now = time[1] * 1000000 + time[2]
end

local function entry(key, at)
  return tonumber(redis.call('LINDEX', key, HEADER + at))
end

-- The number of entries up to and including since. Searches exponentially, since mostly there is 0 or 1.
local function count_until(key, total, since)
  local low, step = 0, 1
  while low + step <= total and entry(key, low + step - 1) <= since do
    low = low + step
    step = step * 2
  end
  local high = math.min(low + step - 1, total)
  while low < high do
    local middle = math.floor((low + high) / 2)
    if entry(key, middle) <= since then low = middle + 1 else high = middle end
  end
  return low
end

local reply, logs = {0}, {}
for i, key in ipairs(KEYS) do
  local limit, window = tonumber(ARGV[2 * i]), tonumber(ARGV[2 * i + 1])
  local log = {total = 0, past = 0, at = now, keep = window, most = limit, window = window, stale = false}
  local head = redis.call('LRANGE', key, 0, HEADER)
  if #head > 0 then
    local keep, most, oldest = tonumber(head[1]), tonumber(head[2]), tonumber(head[3])
    local newest = tonumber(redis.call('LINDEX', key, -1))
    -- If the clock goes back by up to a second, the log uses its newest time. If it was set back further, the log is
    -- dropped, as it is if the clock was set forward: waiting for the clock could reject requests for hours.
    if newest <= now - keep or newest > now + 1000000 then
      log.stale = true
    else
      log.at = math.max(now, newest)
      log.total = redis.call('LLEN', key) - HEADER
      log.keep, log.most = math.max(keep, window), math.max(most, limit)
      log.changed = log.keep ~= keep or log.most ~= most
      local since = log.at - math.min(window, keep)
      if oldest <= since then log.past = count_until(key, log.total, since) end
    end
  end
  local counted = log.total - log.past
  local first, wait = log.at, 0
  if counted > 0 then first = entry(key, log.past) end
  if counted >= limit then
    local leaving = now
    if limit > 0 then leaving = entry(key, log.total - limit) end
    wait = math.max(1, leaving + window - now)
    if reply[1] == 0 then reply[1] = i end
  end
  logs[i] = log
  reply[3 * i - 1], reply[3 * i], reply[3 * i + 1] = counted, first + window, wait
end
`;

/** Replies what ADMIT_SCRIPT would reply now, without writing. */
export const PEEK_SCRIPT = `${MEASURE}
return reply
`;

export const ADMIT_SCRIPT = `${MEASURE}
if reply[1] ~= 0 then return reply end

for i, key in ipairs(KEYS) do
  local log = logs[i]
  if log.stale then redis.call('DEL', key) end
  if log.total == 0 then
    redis.call('RPUSH', key, log.keep, log.most, log.at)
  else
    local total = redis.call('RPUSH', key, log.at) - HEADER
    local past = log.past
    if log.keep > log.window then past = count_until(key, total, log.at - log.keep) end
    local drop = math.max(past, total - log.most)
    -- The trim removes the header too; the last two dropped entries take its place and are overwritten.
    if drop > 0 then redis.call('LTRIM', key, drop, -1) end
    if drop > 0 or log.changed then
      redis.call('LSET', key, 0, log.keep)
      redis.call('LSET', key, 1, log.most)
    end
  end
  redis.call('PEXPIRE', key, math.ceil(log.keep / 1000))
end
return reply
`;

export const ADMIT_SHA = Bun.SHA1.hash(ADMIT_SCRIPT, "hex");

/** One hash tag for all keys: in a Redis cluster behind a proxy, the keys of one call must be on the same shard. */
const PREFIX = "{gatehouse}:window:";

export function redisKey(key: string): string {
  return PREFIX + digestName(key);
}

/** Returns the arguments after the SHA in EVALSHA, or after the text in EVAL. */
export function scriptArguments(limits: readonly Limit[], timeMs: number): string[] {
  const args = [String(limits.length)];
  for (const { key } of limits) args.push(redisKey(key));
  args.push(String(Math.round(timeMs * 1000)));
  for (const { limit, windowMs } of limits) args.push(String(limit), String(Math.round(windowMs * 1000)));
  return args;
}

/** Returns the decision of a script's reply, or null if the reply is invalid. */
export function parseReply(reply: unknown, limits: readonly Limit[]): Decision | null {
  if (!Array.isArray(reply) || reply.length !== 1 + 3 * limits.length) return null;
  const numbers: readonly unknown[] = reply;
  if (!numbers.every((value) => typeof value === "number")) return null;
  const [exhausted = 0, ...rest] = numbers;
  const states: LimitState[] = limits.map(({ limit }, position) => {
    const [counted = 0, resetUs = 0, waitUs = 0] = rest.slice(3 * position, 3 * position + 3);
    return {
      remaining: Math.max(0, limit - counted - (exhausted === 0 ? 1 : 0)),
      resetAt: Math.ceil(resetUs / 1_000_000),
      waitMs: Math.ceil(waitUs / 1000),
    };
  });
  return { admitted: exhausted === 0, refusedBy: exhausted - 1, states, source: "redis" };
}
