// The Lua scripts of the ledger in Redis. See redis-library.ts for the keys and arguments that they share.
import { LEASE_MS } from "./ledger.ts";
import { LIBRARY } from "./redis-library.ts";

/** What is open in place of a reservation that was canceled before it arrived: nothing to charge. */
const CANCELED = "[]";
/** Reservations and cancellations of a process in a gateway beyond which cancellations are not remembered. */
const MAX_OPEN = 100_000;

/**
 * ARGV[4] is the id of the reservation, or empty to reserve nothing. ARGV[5] is what to charge if the process dies, or empty.
 * ARGV[6] is the lease. Then follow for each of KEYS[4…]: kind (`r` request, `q` request in sub-buckets, `t` tokens, `b` budget, `w`
 * budget that only warns), limit, amount, and window, or end of the period in milliseconds; for a budget what the database has as
 * spent, -1 if that is nothing for certain, and as version.
 *
 * Nothing is written for a refused request. The reply is the number of the first claim that does not fit (0: all fit), then for each
 * claim: what was used before, the time of the oldest settled amount, the wait (-1: forever), and for an admitted request its
 * time, for others how long not even an amount of 1 fits beside what is settled (-1: forever, 0: it does).
 *
 * If budgets have to be compared with the database first, the reply is -1 and the numbers of their claims. This is so for a budget of
 * an earlier epoch, one that does not exist, one that operators have changed, and one that has less than the database.
 */
export const RESERVE_SCRIPT = `${LIBRARY}
expire_dead()
local reply, accounts, unseeded = {0}, {}, {-1}
for i = 4, #KEYS do
  local at, base = 6 * i - 17, 4 * i - 14
  local kind, limit, amount, span = ARGV[at], tonumber(ARGV[at + 1]), tonumber(ARGV[at + 2]), tonumber(ARGV[at + 3])
  local used, oldest, wait, full = 0, now, 0, 0
  if kind == 'b' or kind == 'w' then
    local floor, version = tonumber(ARGV[at + 4]), tonumber(ARGV[at + 5])
    local budget = load_budget(KEYS[i])
    accounts[i] = budget
    used = add(budget.spent, budget.reserved)
    local is_new = floor == -1 and not budget.exists
    local is_behind = version > budget.version or (version == budget.version and used < floor)
    if not is_new and (not budget.seeded or is_behind) then unseeded[#unseeded + 1] = i - 4 end
    if kind == 'b' and amount > 0 and amount > limit - used then
      local left = span > 0 and math.max(1, span * 1000 - now) or -1
      if amount > limit then wait = -1 elseif amount <= limit - budget.spent then wait = 1 else wait = left end
      if budget.spent >= limit then full = left end
    end
  else
    local window = load_window(KEYS[i], now)
    accounts[i] = window
    local settled = settled_in(window, span, now)
    used = add(settled, window.reserved)
    oldest = oldest_in(window, span, now)
    if amount > 0 and amount > limit - used then
      wait = window_wait(window, amount, limit, span, now)
      if settled >= limit then full = window_wait(window, 1, limit, span, now) end
    end
  end
  if wait ~= 0 and reply[1] == 0 then reply[1] = i - 3 end
  reply[base], reply[base + 1], reply[base + 2], reply[base + 3] = used, oldest, wait, full
end
if #unseeded > 1 then return unseeded end
if reply[1] ~= 0 or ARGV[4] == '' then return reply end
if ARGV[5] ~= '' then
  if redis.call('HSETNX', KEYS[2], ARGV[4], ARGV[5]) == 0 then
    redis.call('HDEL', KEYS[2], ARGV[4])
    return reply
  end
  if redis.call('ZADD', KEYS[1], text(now + tonumber(ARGV[6])), ARGV[2]) == 1 then keep_lease() end
end

for i = 4, #KEYS do
  local at = 6 * i - 17
  local kind, amount, span, account = ARGV[at], tonumber(ARGV[at + 2]), tonumber(ARGV[at + 3]), accounts[i]
  if kind == 'r' or kind == 'q' then
    local width = kind == 'q' and math.floor(span / 60) or 0
    reply[4 * i - 11] = charge_window(account, amount, span, width, now)
  elseif kind == 't' then
    account.reserved = add(account.reserved, amount)
    store_window(account, span)
  else
    if not account.seeded then redis.call('HSET', KEYS[i], 'spent', '0', 'reserved', '0', 'epoch', epoch, 'seeded', epoch) end
    add_to_budget(KEYS[i], 'reserved', amount)
    if span == 0 or account.ends < span then expire_budget(KEYS[i], span) end
  end
end
return reply
`;

/**
 * Ends a reservation. ARGV[4] is its id. ARGV[5] is `end`, or `cancel` if it is not known whether Redis has it, or `charge` for a request
 * that was decided without Redis, or `uncharge` if it consists of requests only. The last key of a `charge` marks it as done. Then follow for
 * each of KEYS[4…]: kind (`r` and `q` only in a release or a charge), reserved amount, charge, or for a budget all that the process has
 * spent of it, window or end of the period, and the time of a request.
 *
 * Repeating the call of `end`, `cancel` or `charge` has no effect: the reservation is not there any more, or the charge is marked as done.
 * One of `uncharge` must not be repeated: it would remove another request of the same bucket.
 *
 * If the lease of the process had ended, the reservation has been charged as reserved. This replaces that charge.
 *
 * What is canceled may still arrive: the network delivers what was sent on a connection that was closed because Redis was silent.
 */
export const END_SCRIPT = `${LIBRARY}
local mode, is_missing, charged_at = ARGV[5], false, nil
local last = mode == 'charge' and #KEYS - 1 or #KEYS
-- Only what the process has spent counts: Redis does not have the reservation, or has ended it.
local function end_missing()
  for i = 4, last do
    local at = 5 * i - 14
    if ARGV[at] == 'b' and mode ~= 'cancel' then spend_until(KEYS[i], tonumber(ARGV[at + 2]), tonumber(ARGV[at + 3])) end
  end
  return 0
end
if mode == 'charge' then
  if not redis.call('SET', KEYS[#KEYS], '1', 'NX', 'PX', DAY_MS) then return end_missing() end
  -- It may have been added when Redis was available again.
  is_missing = redis.call('HDEL', KEYS[2], ARGV[4]) == 0
elseif mode == 'end' then
  is_missing = redis.call('HDEL', KEYS[2], ARGV[4]) == 0
elseif mode == 'cancel' then
  local open = redis.call('HGET', KEYS[2], ARGV[4])
  is_missing = not open or open == '${CANCELED}'
  if not is_missing then redis.call('HDEL', KEYS[2], ARGV[4]) end
end
if is_missing then
  local expired = expired_key(ARGV[2])
  -- Redis Cluster is moving the slot.
  if not are_here({expired}) then return redis.error_reply('TRYAGAIN the key is on another node') end
  local times = redis.call('HGET', expired, ARGV[4])
  if times then
    redis.call('HDEL', expired, ARGV[4])
    charged_at = string.gmatch(times, '%d+')
  elseif mode ~= 'charge' then
    if mode == 'cancel' and redis.call('HLEN', KEYS[2]) < ${MAX_OPEN} then
      redis.call('HSET', KEYS[2], ARGV[4], '${CANCELED}')
      redis.call('ZADD', KEYS[1], 'NX', text(now + ${LEASE_MS * 1000}), ARGV[2])
      keep_lease()
    end
    return end_missing()
  end
end
for i = 4, last do
  local at = 5 * i - 14
  local kind, span = ARGV[at], tonumber(ARGV[at + 3])
  local reserved, charge = tonumber(ARGV[at + 1]), tonumber(ARGV[at + 2])
  local is_reserved = not is_missing and not charged_at
  if kind == 'r' or kind == 'q' then
    local window = load_window(KEYS[i], now)
    if mode == 'charge' then charge_window(window, reserved, span, kind == 'q' and math.floor(span / 60) or 0, now)
    else uncharge_window(window, tonumber(ARGV[at + 4]), span, reserved) end
  elseif kind == 'b' then
    if is_reserved then release_budget(KEYS[i], reserved, span) end
    if charged_at then
      charged_at()
      remove_presumed(KEYS[i], reserved)
    end
    spend_until(KEYS[i], charge, span)
  elseif charged_at then
    local window = load_window(KEYS[i], now)
    uncharge_window(window, tonumber(charged_at()), span, reserved)
    charge_window(window, charge, span, math.floor(span / 60), now)
  else
    settle_window(KEYS[i], is_reserved and reserved or 0, charge, span, now)
  end
end
return 1
`;

/**
 * Adds a reservation that Redis does not have: it lost its data, or was unavailable. ARGV[4] is its id, ARGV[5] what to charge if the
 * process dies, ARGV[6] the lease. Then follow for each of KEYS[4…] kind, amount, and window or end of the period. The last key marks it as
 * charged.
 */
export const RESTORE_SCRIPT = `${LIBRARY}
if redis.call('EXISTS', KEYS[#KEYS]) == 1 or redis.call('HSETNX', KEYS[2], ARGV[4], ARGV[5]) == 0 then return 0 end
if redis.call('ZADD', KEYS[1], text(now + tonumber(ARGV[6])), ARGV[2]) == 1 then keep_lease() end
for i = 4, #KEYS - 1 do
  local at = 3 * i - 5
  local kind, amount, span = ARGV[at], tonumber(ARGV[at + 1]), tonumber(ARGV[at + 2])
  if kind == 't' then
    local window = load_window(KEYS[i], now)
    window.reserved = add(window.reserved, amount)
    store_window(window, span)
  else
    enter_epoch(KEYS[i])
    add_to_budget(KEYS[i], 'reserved', amount)
    expire_budget(KEYS[i], span)
  end
end
return 1
`;

/** Extends the lease of a process that has open reservations. ARGV[4] is the lease. */
export const RENEW_SCRIPT = `${LIBRARY}
expire_dead()
if redis.call('EXISTS', KEYS[2]) == 1 then
  redis.call('ZADD', KEYS[1], text(now + tonumber(ARGV[4])), ARGV[2])
  keep_lease()
end
return 1
`;

/** Drops the settled amounts of the window KEYS[4]. */
export const CLEAR_WINDOW_SCRIPT = `${LIBRARY}
expire_dead()
local window = load_window(KEYS[4], now)
redis.call('DEL', KEYS[4])
if window.reserved > 0 then
  local cleared = new_window(KEYS[4])
  cleared.keep, cleared.reserved = window.keep, window.reserved
  store_window(cleared, window.keep)
end
return 1
`;
