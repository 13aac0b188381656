// The Lua scripts that decide in Redis: their text, arguments, and reply.
import { digestName } from "../base/digest-name.ts";
import { cellWidth, MAX_ENTRIES } from "./bucket-log.ts";
import type { Decision, Limit, LimitState } from "./counters.ts";

/**
 * A key is a list: the longest window (µs) and the highest limit used with it, the number of dropped requests, then the
 * times (µs) of counted requests, oldest first. A list takes 10 bytes per request, a sorted set 100. A list is trimmed at
 * one end and extended at the other, and it can hold two requests of the same microsecond without unique member names.
 *
 * Since a large limit was used with a key, an entry is a pair as in BucketLog: a time, and the number of requests counted up to
 * then. In the other lists the number of dropped requests is -1: there an entry is one request.
 *
 * Nothing is written before all limits have been checked, and RPUSH or LSET is the first write: a Redis that cannot write
 * (replica, out of memory) fails there, with nothing partially counted. A rejected request writes nothing.
 *
 * ARGV[1] is the time in µs, or 0 for Redis's own clock, as in production. Then follow a limit, a window and a width of cells
 * in µs per key. The reply is the number of the first exhausted limit (0: admitted), then for each limit: the requests counted
 * in the window before this one, the reset time in µs, and the wait in µs.
 */
const MEASURE = `
local HEADER = 3
local now = tonumber(ARGV[1])
if now == 0 then
  local time = redis.call('TIME')
  now = time[1] * 1000000 + time[2]
end

local function time_at(log, at)
  return tonumber(redis.call('LINDEX', log.key, HEADER + at * log.step))
end

-- The requests counted before an entry.
local function total_before(log, at)
  if log.step == 1 then return at end
  if at == 0 then return log.dropped end
  return tonumber(redis.call('LINDEX', log.key, HEADER + at * 2 - 1))
end

-- The number of entries for which a condition holds. Searches exponentially, since mostly there is 0 or 1.
local function search(count, holds)
  local low, step = 0, 1
  while low + step <= count and holds(low + step - 1) do
    low = low + step
    step = step * 2
  end
  local high = math.min(low + step - 1, count)
  while low < high do
    local middle = math.floor((low + high) / 2)
    if holds(middle) then low = middle + 1 else high = middle end
  end
  return low
end

local function count_until(log, since)
  return search(log.count, function(at) return time_at(log, at) <= since end)
end

-- The number of entries without which the limit or more of the total remain.
local function surplus_of(log, total, limit)
  if log.step == 1 then return math.max(0, total - limit) end
  return search(log.count, function(at) return total - total_before(log, at + 1) >= limit end)
end

local reply, logs = {0}, {}
for i, key in ipairs(KEYS) do
  local limit, window, width = tonumber(ARGV[3 * i - 1]), tonumber(ARGV[3 * i]), tonumber(ARGV[3 * i + 1])
  local log = {key = key, count = 0, past = 0, at = now, keep = window, most = limit, window = window, width = width}
  log.step, log.dropped, log.total = 1, -1, 0
  local head = redis.call('LRANGE', key, 0, HEADER)
  if #head > 0 then
    local keep, most, oldest = tonumber(head[1]), tonumber(head[2]), tonumber(head[4])
    log.dropped = tonumber(head[3])
    if log.dropped >= 0 then log.step = 2 end
    local newest = tonumber(redis.call('LINDEX', key, -log.step))
    -- If the clock goes back by up to a second, the log uses its newest time. If it was set back further, the log is
    -- dropped, as it is if the clock was set forward: waiting for the clock could reject requests for hours.
    if newest <= now - keep or newest > now + 1000000 then
      log.stale, log.step, log.dropped = true, 1, -1
    else
      log.at, log.newest, log.kept = math.max(now, newest), newest, keep
      log.count = (redis.call('LLEN', key) - HEADER) / log.step
      log.total = total_before(log, log.count)
      log.keep, log.most = math.max(keep, window), math.max(most, limit)
      log.changed = log.keep ~= keep or log.most ~= most
      local since = log.at - math.min(window, keep)
      if oldest <= since then log.past = count_until(log, since) end
    end
  end
  local counted = log.total - total_before(log, log.past)
  local first, wait = log.at, 0
  if counted > 0 then first = time_at(log, log.past) end
  if counted >= limit then
    local leaving = now
    if limit > 0 then leaving = time_at(log, surplus_of(log, log.total, limit)) end
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

/** The same as BucketLog.compact does in memory. A list of single requests becomes a list of pairs. */
const COMPACT = `
local function is_same_cell(earlier, later, width)
  return earlier == later or (width > 0 and math.floor(earlier / width) == math.floor(later / width))
end

local function compact(log)
  local all = redis.call('LRANGE', log.key, HEADER, -1)
  local wide, since = log.width * log.keep / log.window, log.at - log.window
  local merged, last = {}, 0
  for at = 0, log.count - 1 do
    local time, total = tonumber(all[at * log.step + 1]), at + 1
    if log.step == 2 then total = all[at * 2 + 2] end
    local width = log.width
    if time <= since and log.step == 2 then width = wide end
    if last == 0 or not is_same_cell(merged[last - 1], time, width) then last = last + 2 end
    merged[last - 1], merged[last] = time, total
  end
  log.dropped = math.max(0, log.dropped)
  redis.call('DEL', log.key)
  redis.call('RPUSH', log.key, log.keep, log.most, log.dropped)
  for from = 1, last, 1000 do
    redis.call('RPUSH', log.key, unpack(merged, from, math.min(last, from + 999)))
  end
  log.step, log.count = 2, last / 2
end
`;

export const ADMIT_SCRIPT = `${MEASURE}
if reply[1] ~= 0 then return reply end
${COMPACT}
for i, key in ipairs(KEYS) do
  local log = logs[i]
  if log.stale then redis.call('DEL', key) end
  if log.count == 0 then
    if log.width > 0 then redis.call('RPUSH', key, log.keep, log.most, 0, log.at, 1)
    else redis.call('RPUSH', key, log.keep, log.most, -1, log.at) end
  else
    local is_converted = log.width > 0 and log.step == 1
    if is_converted then compact(log) end
    local total = log.total + 1
    if log.step == 1 then
      redis.call('RPUSH', key, log.at)
      log.count = log.count + 1
    elseif is_same_cell(log.newest, log.at, log.width) then
      redis.call('LSET', key, -2, log.at)
      redis.call('LSET', key, -1, total)
    else
      redis.call('RPUSH', key, log.at, total)
      log.count = log.count + 1
    end
    local past = log.past
    if log.kept > log.window or is_converted then past = count_until(log, log.at - log.kept) end
    local drop = math.max(past, surplus_of(log, total, log.most))
    if drop > 0 then
      if log.step == 2 then log.dropped = total_before(log, drop) end
      -- The trim removes the header too; the last dropped entries take its place and are overwritten.
      redis.call('LTRIM', key, drop * log.step, -1)
      log.count = log.count - drop
    end
    if drop > 0 or log.changed then
      redis.call('LSET', key, 0, log.keep)
      redis.call('LSET', key, 1, log.most)
      redis.call('LSET', key, 2, log.dropped)
    end
    if log.width > 0 and log.count >= ${MAX_ENTRIES} then compact(log) end
  end
  redis.call('PEXPIRE', key, math.ceil(log.keep / 1000))
end
return reply
`;

export const ADMIT_SHA = Bun.SHA1.hash(ADMIT_SCRIPT, "hex");

/** The hash tag is the gateway: a cluster spreads gateways over its nodes, and the keys of one call are in one slot. */
export function redisKey(gatewayId: string, key: string): string {
  return `gatehouse:{${gatewayId}}:window:${digestName(key)}`;
}

interface ScriptCall {
  readonly gatewayId: string;
  readonly limits: readonly Limit[];
  /** 0: Redis's own clock. */
  readonly timeMs: number;
  readonly exactLimit: number;
}

/** Returns the arguments after the SHA in EVALSHA, or after the text in EVAL. */
export function scriptArguments({ gatewayId, limits, timeMs, exactLimit }: ScriptCall): string[] {
  const args = [String(limits.length)];
  for (const { key } of limits) args.push(redisKey(gatewayId, key));
  args.push(String(Math.round(timeMs * 1000)));
  for (const { limit, windowMs } of limits) {
    const window = Math.round(windowMs * 1000);
    args.push(String(limit), String(window), String(cellWidth(limit, window, exactLimit)));
  }
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
