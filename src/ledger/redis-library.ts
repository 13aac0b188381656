// Lua functions that the scripts of the ledger in Redis share: budgets, and the reservations of dead processes.
import { WINDOWS } from "./redis-windows.ts";

/**
 * Times are in µs, amounts are integers up to 2^53 - 1, which are exact as Lua numbers. `text` formats them: Lua's own format has
 * 14 digits.
 *
 * KEYS[1] is a sorted set of processes by the end of their lease, KEYS[2] a hash of the open reservations of the calling process:
 * what to charge for each if the process dies, as JSON. ARGV[1] is the time in µs, or 0 for Redis's own clock, as in production.
 * ARGV[2] is the id of the process.
 *
 * Windows: see redis-windows.ts. A budget is a hash with `spent`, `reserved` and the end of its period.
 */
export const LIBRARY = `
local MAX = 9007199254740991
local HOUR_MS = 3600000
local DAY_MS = 24 * HOUR_MS
local FOREVER_MS = 400 * DAY_MS
local now = tonumber(ARGV[1])
if now == 0 then
  local time = redis.call('TIME')
  now = time[1] * 1000000 + time[2]
end

local function text(number) return string.format('%d', number) end
local function add(left, right) return math.min(left + right, MAX) end

${WINDOWS}
local function load_budget(key)
  local found = redis.call('HMGET', key, 'spent', 'reserved', 'ends')
  return {key = key, spent = tonumber(found[1] or '0'), reserved = tonumber(found[2] or '0'), ends = tonumber(found[3] or '0')}
end

-- ends: Unix milliseconds of the end of the period, 0 if there is none. Three days longer: a budget may move to another time zone.
-- An earlier end than the known one is that of a shorter period, which the budget had before.
local function expire_budget(key, ends)
  if ends == 0 then
    redis.call('PEXPIRE', key, FOREVER_MS)
  elseif ends >= tonumber(redis.call('HGET', key, 'ends') or '0') then
    redis.call('HSET', key, 'ends', text(ends))
    redis.call('PEXPIREAT', key, text(ends + 3 * DAY_MS))
  end
end

-- Adds to a field of a budget, within 0 and MAX.
local function add_to_budget(key, field, amount)
  local sum = redis.call('HINCRBY', key, field, text(amount))
  if sum < 0 or sum > MAX then redis.call('HSET', key, field, text(math.max(0, math.min(sum, MAX)))) end
  return sum
end

-- Replaces a reserved amount of a window or a budget with a charge. Returns the time of the charge.
local function settle(kind, key, reserved, charge, span, at)
  if kind == 'b' then
    -- A negative sum: the key had expired or was deleted. Then this creates it.
    local lost = reserved == 0 or add_to_budget(key, 'reserved', -reserved) < 0
    if charge > 0 then add_to_budget(key, 'spent', charge) end
    if lost then expire_budget(key, span) end
    return at
  end
  local window = load_window(key, now)
  window.reserved = math.max(0, window.reserved - reserved)
  return charge_window(window, charge, span, math.floor(span / 60), at)
end

-- Replaces an amount that was charged at a time with another one, which is charged now.
local function replace_charge(kind, key, charged, charge, span, time)
  if kind == 'b' then
    add_to_budget(key, 'spent', charge - charged)
    expire_budget(key, span)
  else
    local window = load_window(key, now)
    uncharge_window(window, time, span, charged)
    charge_window(window, charge, span, math.floor(span / 60), now)
  end
end

-- Called when a process gets a lease, and when it renews it.
local function keep_lease()
  redis.call('PEXPIRE', KEYS[1], FOREVER_MS)
  redis.call('PEXPIRE', KEYS[2], FOREVER_MS)
end

-- Returns whether the script may access these keys. While Redis Cluster moves the slot to another node, it rejects access to a key
-- that has been moved, or does not exist, and is not one of KEYS.
local function are_here(keys)
  for _, key in ipairs(keys) do
    local found = redis.pcall('EXISTS', key)
    if type(found) == 'table' and found.err then return false end
  end
  return true
end

-- The key of a hash of the reservations of a process that were charged when its lease ended: the times of the charges. If the process
-- is alive, because only its connection to Redis was interrupted, its settlements replace them.
local function expired_key(process)
  return (string.gsub(KEYS[1], 'leases$', 'expired:' .. process))
end

-- Charges the open reservations of a process whose lease ended at the given time, until the limit is reached. Returns the number of
-- those that were charged, and whether none is left.
local function expire_process(process, ended, limit)
  local open = string.gsub(KEYS[1], 'leases$', 'open:' .. process)
  local expired = expired_key(process)
  if not are_here({open, expired}) then return 0, false end
  local cursor, charged = '0', 0
  repeat
    local page = redis.call('HSCAN', open, cursor, 'COUNT', 500)
    cursor = page[1]
    for i = 1, #page[2], 2 do
      local claims = cjson.decode(page[2][i + 1])
      local keys = {}
      for at, claim in ipairs(claims) do keys[at] = claim[2] end
      if not are_here(keys) then return charged, false end
      local times = {}
      for at, claim in ipairs(claims) do
        times[at] = text(settle(claim[1], claim[2], claim[3], claim[3], claim[4], ended))
      end
      redis.call('HDEL', open, page[2][i])
      -- Not if it was canceled.
      if #times > 0 then
        redis.call('HSET', expired, page[2][i], table.concat(times, ' '))
        redis.call('PEXPIRE', expired, DAY_MS)
      end
      charged = charged + 1
    end
  until cursor == '0' or charged >= limit
  return charged, redis.call('EXISTS', open) == 0
end

-- Charges the reservations of processes whose lease has ended, as of that end. At most about 500 of at most 100 processes per call, to
-- take less than a few milliseconds; the next calls continue.
local function expire_dead()
  local dead = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', text(now), 'WITHSCORES', 'LIMIT', 0, 100)
  local left = 500
  for i = 1, #dead, 2 do
    local charged, is_done = expire_process(dead[i], tonumber(dead[i + 1]), left)
    if not is_done then return end
    redis.call('ZREM', KEYS[1], dead[i])
    left = left - charged
    if left <= 0 then return end
  end
end
`;
