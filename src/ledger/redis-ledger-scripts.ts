// The Lua scripts of the ledger in Redis. See redis-library.ts for the keys and arguments that they share.
import { LEASE_MS } from "./ledger.ts";
import { LIBRARY } from "./redis-library.ts";

/** What is open in place of a reservation that was canceled before it arrived: nothing to charge. */
const CANCELED = "[]";
/** Reservations and cancellations of a process in a gateway beyond which cancellations are not remembered. */
const MAX_OPEN = 100_000;

/**
 * ARGV[3] is the id of the reservation, or empty to reserve nothing. ARGV[4] is what to charge if the process dies, or empty.
 * ARGV[5] is the lease. Then follow for each of KEYS[3…]: kind (`r` request, `q` request in sub-buckets, `t` tokens, `b` budget, `w`
 * budget that only warns), limit, amount, and window, or end of the period in milliseconds.
 *
 * Nothing is written for a refused request. The reply is the number of the first claim that does not fit (0: all fit), then for each
 * claim: what was used before, the time of the oldest settled amount, the wait (-1: forever), and for an admitted request its
 * time, for others how long not even an amount of 1 fits beside what is settled (-1: forever, 0: it does).
 */
export const RESERVE_SCRIPT = `${LIBRARY}
expire_dead()
local reply, accounts = {0}, {}
for i = 3, #KEYS do
  local at, base = 4 * i - 6, 4 * i - 10
  local kind, limit, amount, span = ARGV[at], tonumber(ARGV[at + 1]), tonumber(ARGV[at + 2]), tonumber(ARGV[at + 3])
  local used, oldest, wait, full = 0, now, 0, 0
  if kind == 'b' or kind == 'w' then
    local budget = load_budget(KEYS[i])
    accounts[i] = budget
    used = add(budget.spent, budget.reserved)
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
  if wait ~= 0 and reply[1] == 0 then reply[1] = i - 2 end
  reply[base], reply[base + 1], reply[base + 2], reply[base + 3] = used, oldest, wait, full
end
if reply[1] ~= 0 or ARGV[3] == '' then return reply end
if ARGV[4] ~= '' then
  if redis.call('HSETNX', KEYS[2], ARGV[3], ARGV[4]) == 0 then
    redis.call('HDEL', KEYS[2], ARGV[3])
    return reply
  end
  if redis.call('ZADD', KEYS[1], text(now + tonumber(ARGV[5])), ARGV[2]) == 1 then keep_lease() end
end

for i = 3, #KEYS do
  local at = 4 * i - 6
  local kind, amount, span, account = ARGV[at], tonumber(ARGV[at + 2]), tonumber(ARGV[at + 3]), accounts[i]
  if kind == 'r' or kind == 'q' then
    local width = kind == 'q' and math.floor(span / 60) or 0
    reply[4 * i - 7] = charge_window(account, amount, span, width, now)
  elseif kind == 't' then
    account.reserved = add(account.reserved, amount)
    store_window(account, span)
  else
    add_to_budget(KEYS[i], 'reserved', amount)
    if span == 0 or account.ends < span then expire_budget(KEYS[i], span) end
  end
end
return reply
`;

/**
 * Ends a reservation. ARGV[3] is its id. ARGV[4] is `end`, or `cancel` if it is not known whether Redis has it, or `charge` for a request
 * that was decided without Redis, or `uncharge` if it consists of requests only. The last key of a `charge` marks it as done. Then follow for
 * each of KEYS[3…]: kind (`r` only in a release), reserved amount, charge, window or end of the period, and the time of a request.
 *
 * Repeating the call of `end`, `cancel` or `charge` has no effect: the reservation is not there any more, or the charge is marked as done.
 * One of `uncharge` must not be repeated: it would remove another request of the same bucket.
 *
 * If the lease of the process had ended, the reservation has been charged as reserved. This replaces that charge.
 *
 * What is canceled may still arrive: the network delivers what was sent on a connection that was closed because Redis was silent.
 */
export const END_SCRIPT = `${LIBRARY}
local is_missing, charged_at = false, nil
if ARGV[4] == 'charge' then
  if not redis.call('SET', KEYS[#KEYS], '1', 'NX', 'PX', DAY_MS) then return 0 end
elseif ARGV[4] == 'end' then
  is_missing = redis.call('HDEL', KEYS[2], ARGV[3]) == 0
elseif ARGV[4] == 'cancel' then
  local open = redis.call('HGET', KEYS[2], ARGV[3])
  is_missing = not open or open == '${CANCELED}'
  if not is_missing then redis.call('HDEL', KEYS[2], ARGV[3]) end
end
if is_missing then
  local expired = expired_key(ARGV[2])
  -- Redis Cluster is moving the slot.
  if not are_here({expired}) then return redis.error_reply('TRYAGAIN the key is on another node') end
  local times = redis.call('HGET', expired, ARGV[3])
  if times then
    redis.call('HDEL', expired, ARGV[3])
    charged_at = string.gmatch(times, '%d+')
  else
    if ARGV[4] == 'cancel' and redis.call('HLEN', KEYS[2]) < ${MAX_OPEN} then
      redis.call('HSET', KEYS[2], ARGV[3], '${CANCELED}')
      redis.call('ZADD', KEYS[1], 'NX', text(now + ${LEASE_MS * 1000}), ARGV[2])
      keep_lease()
    end
    return 0
  end
end
for i = 3, ARGV[4] == 'charge' and #KEYS - 1 or #KEYS do
  local at = 5 * i - 10
  local kind, span = ARGV[at], tonumber(ARGV[at + 3])
  local reserved, charge = tonumber(ARGV[at + 1]), tonumber(ARGV[at + 2])
  if kind == 'r' then
    uncharge_window(load_window(KEYS[i], now), tonumber(ARGV[at + 4]), span, reserved)
  elseif charged_at then
    replace_charge(kind, KEYS[i], reserved, charge, span, tonumber(charged_at()))
  else
    settle(kind, KEYS[i], reserved, charge, span, now)
  end
end
return 1
`;

/** Extends the lease of a process that has open reservations. ARGV[3] is the lease. */
export const RENEW_SCRIPT = `${LIBRARY}
expire_dead()
if redis.call('EXISTS', KEYS[2]) == 1 then
  redis.call('ZADD', KEYS[1], text(now + tonumber(ARGV[3])), ARGV[2])
  keep_lease()
end
return 1
`;

/** Drops the settled amounts of the window KEYS[3]. */
export const CLEAR_WINDOW_SCRIPT = `${LIBRARY}
expire_dead()
local window = load_window(KEYS[3], now)
redis.call('DEL', KEYS[3])
if window.reserved > 0 then
  local cleared = new_window(KEYS[3])
  cleared.keep, cleared.reserved = window.keep, window.reserved
  store_window(cleared, window.keep)
end
return 1
`;

/** Adds ARGV[4] to the budget KEYS[3] whose period ends at ARGV[3]; `clear` drops what was spent. Replies spent and reserved. */
export const ADJUST_SCRIPT = `${LIBRARY}
expire_dead()
if ARGV[4] == 'clear' then redis.call('HSET', KEYS[3], 'spent', '0') else add_to_budget(KEYS[3], 'spent', tonumber(ARGV[4])) end
expire_budget(KEYS[3], tonumber(ARGV[3]))
local budget = load_budget(KEYS[3])
return {budget.spent, budget.reserved}
`;

/** Replies spent and reserved of each budget KEYS[3…]. */
export const READ_SCRIPT = `${LIBRARY}
expire_dead()
local reply = {}
for i = 3, #KEYS do
  local budget = load_budget(KEYS[i])
  reply[#reply + 1], reply[#reply + 2] = budget.spent, budget.reserved
end
return reply
`;
