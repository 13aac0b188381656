// Lua functions that the scripts of the ledger in Redis share: budgets, and the reservations of dead processes.
import { WINDOWS } from "./redis-windows.ts";

/**
 * Times are in µs, amounts are integers up to 2^53 - 1, which are exact as Lua numbers. `text` formats them: Lua's own format has
 * 14 digits.
 *
 * KEYS[1] is a sorted set of processes by the end of their lease, KEYS[2] a hash of the open reservations of the calling process:
 * what to charge for each if the process dies, as JSON. KEYS[3] is the epoch of the gateway. ARGV[1] is the time in µs, or 0 for
 * Redis's own clock, as in production. ARGV[2] is the id of the process, a dot, and the epoch that it knows. ARGV[3] is this epoch, or
 * empty not to check it.
 *
 * Windows: see redis-windows.ts. A budget is a hash with `spent`, `reserved` and the end of its period; `epoch`, in which `reserved`
 * was counted; `seeded`, the epoch in which `spent` was compared with the database; `version`, how often operators have changed it;
 * `presumed`, the part of `spent` that was charged because the lease of a process had ended; and
 * `@` with the id of each process: what that process has spent in total, which is part of `spent`, and when that was noted.
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
local epoch = ARGV[3]
local writer = string.match(ARGV[2], '^[^.]*')
-- Commands of a process that does not know the epoch have no effect: what it believes to be reserved is not.
if epoch ~= '' then
  local found = redis.call('HMGET', KEYS[3], 'id', 'seen')
  if found[1] ~= epoch then return redis.error_reply('EPOCH is another one') end
  if now - tonumber(found[2]) > 100000 then
    redis.call('HSET', KEYS[3], 'seen', text(now))
    redis.call('PEXPIRE', KEYS[3], FOREVER_MS)
  end
end

local function load_budget(key)
  local found = redis.call('HMGET', key, 'spent', 'reserved', 'ends', 'epoch', 'seeded', 'version')
  return {
    key = key,
    exists = found[1] or found[2] or found[4],
    spent = tonumber(found[1] or '0'),
    reserved = found[4] == epoch and tonumber(found[2] or '0') or 0,
    ends = tonumber(found[3] or '0'),
    seeded = found[5] == epoch,
    version = tonumber(found[6] or '0'),
  }
end

-- Forgets the reservations of an earlier epoch: the processes that hold them add them again.
local function enter_epoch(key)
  if redis.call('HGET', key, 'epoch') ~= epoch then
    redis.call('HSET', key, 'epoch', epoch, 'reserved', '0', 'presumed', '0')
  end
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

-- Returns a reserved amount of a budget.
local function release_budget(key, reserved, ends)
  if reserved == 0 then return end
  enter_epoch(key)
  if add_to_budget(key, 'reserved', -reserved) < 0 then expire_budget(key, ends) end
end

-- What a process has spent, and when that was noted.
local function sum_text(sum) return text(sum) .. ' ' .. text(now) end
local function sum_in(value) return tonumber(string.match(value or '0', '^%d+')) end

-- Adds what the total of the calling process exceeds the one that is known. Repeating it has no effect.
local function spend_until(key, total, ends)
  local known = redis.call('HGET', key, '@' .. writer)
  local sum = sum_in(known)
  if total <= sum then return end
  redis.call('HSET', key, '@' .. writer, sum_text(total))
  add_to_budget(key, 'spent', total - sum)
  if not known then
    enter_epoch(key)
    expire_budget(key, ends)
  end
end

-- Replaces a reserved amount of a window with a charge. Returns the time of the charge.
local function settle_window(key, reserved, charge, span, at)
  local window = load_window(key, now)
  window.reserved = math.max(0, window.reserved - reserved)
  return charge_window(window, charge, span, math.floor(span / 60), at)
end

-- Charges a reservation of a process whose lease has ended as reserved. Returns the time of the charge.
local function charge_expired(kind, key, reserved, span, at)
  if kind ~= 'b' then return settle_window(key, reserved, reserved, span, at) end
  release_budget(key, reserved, span)
  add_to_budget(key, 'spent', reserved)
  add_to_budget(key, 'presumed', reserved)
  return at
end

-- Undoes such a charge. What was reset since then is not a part of what is spent any more.
local function remove_presumed(key, reserved)
  enter_epoch(key)
  local presumed = math.min(reserved, tonumber(redis.call('HGET', key, 'presumed') or '0'))
  add_to_budget(key, 'presumed', -presumed)
  add_to_budget(key, 'spent', -presumed)
end

-- One of an earlier epoch is dropped: its process reports what it knows of windows, and the database charges what is open in budgets.
local function drop_expired_claim(kind, key, reserved, span)
  if kind ~= 'b' then settle_window(key, reserved, 0, span, now) end
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
  local is_current = string.match(process, '[^.]*$') == epoch
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
        if is_current then times[at] = text(charge_expired(claim[1], claim[2], claim[3], claim[4], ended))
        else drop_expired_claim(claim[1], claim[2], claim[3], claim[4]) end
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
