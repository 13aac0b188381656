// Lua functions that the scripts of the ledger in Redis share: windows, budgets, and the reservations of dead processes.

/**
 * Times are in µs, amounts are integers up to 2^53 - 1, which are exact as Lua numbers. `text` formats them: Lua's own format has
 * 14 digits.
 *
 * KEYS[1] is a sorted set of processes by the end of their lease, KEYS[2] a hash of the open reservations of the calling process:
 * what to charge for each if the process dies, as JSON. ARGV[1] is the time in µs, or 0 for Redis's own clock, as in production.
 * ARGV[2] is the id of the process.
 *
 * A window is a list: first `keep total reserved` (the longest window used with it, the sum of its buckets, the sum of open
 * reservations), then its buckets, oldest first: `end amount start`, shortened to `end` for one request, which takes 10 bytes. Its
 * functions do the same as those of window.ts.
 *
 * A budget is a hash with `spent` and `reserved`.
 */
export const LIBRARY = `
local MAX = 9007199254740991
local DAY_MS = 86400000
local FOREVER_MS = 400 * DAY_MS
local now = tonumber(ARGV[1])
if now == 0 then
  local time = redis.call('TIME')
  now = time[1] * 1000000 + time[2]
end

local function text(number) return string.format('%.0f', number) end
local function add(left, right) return math.min(left + right, MAX) end

local function numbers(line)
  local first, second, third = string.match(line, '^(%d+) ?(%d*) ?(%d*)$')
  return tonumber(first), tonumber(second), tonumber(third)
end

local function parse(line)
  local last, amount, start = numbers(line)
  return {last = last, amount = amount or 1, start = start or last}
end

local function bucket_text(bucket)
  if bucket.start ~= bucket.last then return text(bucket.last) .. ' ' .. text(bucket.amount) .. ' ' .. text(bucket.start) end
  if bucket.amount ~= 1 then return text(bucket.last) .. ' ' .. text(bucket.amount) end
  return text(bucket.last)
end

-- Calls visit for each bucket from the oldest on until it returns true.
local function each_bucket(window, visit)
  local chunk = window.first
  local from = 1
  while chunk and #chunk > 0 do
    for _, line in ipairs(chunk) do
      if visit(parse(line)) then return end
    end
    from = from + #chunk
    chunk = redis.call('LRANGE', window.key, from, from + 63)
  end
end

-- expired: the number of buckets to drop. live: whether others remain.
local function load_window(key, at)
  local window = {key = key, keep = 0, total = 0, reserved = 0, expired = 0, live = false, exists = false}
  local head = redis.call('LRANGE', key, 0, 2)
  if #head == 0 then return window end
  window.exists = true
  window.keep, window.total, window.reserved = numbers(table.remove(head, 1))
  window.first = head
  local capped = window.total == MAX
  each_bucket(window, function(bucket)
    -- If the clock was set back by more than a second, the amounts are dropped: waiting for the clock could take hours.
    if bucket.last > at - window.keep and bucket.last <= at + 1000000 then
      window.live = true
      return true
    end
    window.expired = window.expired + 1
    window.total = window.total - bucket.amount
  end)
  if capped or not window.live then window.total = 0 end
  if capped and window.live then
    local seen = 0
    each_bucket(window, function(bucket)
      seen = seen + 1
      if seen > window.expired then window.total = add(window.total, bucket.amount) end
    end)
  end
  return window
end

-- Calls visit for each bucket of the last span µs.
local function each_in(window, span, at, visit)
  local seen = 0
  each_bucket(window, function(bucket)
    seen = seen + 1
    if seen > window.expired and bucket.last > at - span then return visit(bucket) end
  end)
end

local function settled_in(window, span, at)
  if span >= window.keep then return window.total end
  local sum = 0
  each_in(window, span, at, function(bucket) sum = add(sum, bucket.amount) end)
  return sum
end

local function oldest_in(window, span, at)
  local oldest = at
  if window.live then
    each_in(window, span, at, function(bucket)
      oldest = bucket.last
      return true
    end)
  end
  return oldest
end

-- The time until amount fits beside the settled amounts; -1 if it never does.
local function window_wait(window, amount, limit, span, at)
  if amount > limit then return -1 end
  local excess = settled_in(window, span, at) - (limit - amount)
  local leaves = at
  if excess > 0 then
    each_in(window, span, at, function(bucket)
      excess = excess - bucket.amount
      leaves = bucket.last + span
      return excess <= 0
    end)
  end
  return math.max(1, leaves - at)
end

local function store_window(window, span)
  local header = text(window.keep) .. ' ' .. text(window.total) .. ' ' .. text(window.reserved)
  if not window.exists then
    redis.call('RPUSH', window.key, header)
    window.exists = true
  else
    -- The trim removes the header too; the last dropped bucket takes its place and is overwritten.
    if window.expired > 0 then redis.call('LTRIM', window.key, window.expired, -1) end
    redis.call('LSET', window.key, 0, header)
  end
  window.expired = 0
  local ttl = math.ceil(math.max(window.keep, span) / 1000)
  -- A reservation may be open for longer than its window.
  if window.reserved > 0 then ttl = ttl + DAY_MS end
  redis.call('PEXPIRE', window.key, ttl)
end

-- Adds a settled amount and stores the window. Returns the time of the amount. A width of 0 keeps every time apart.
local function charge_window(window, amount, span, width, at)
  if amount == 0 then
    store_window(window, span)
    return at
  end
  local newest
  if window.live then
    newest = parse(redis.call('LINDEX', window.key, -1))
    at = math.max(at, newest.last)
    window.keep = math.max(window.keep, span)
  else
    window.keep = span
  end
  window.total = add(window.total, amount)
  store_window(window, span)
  if newest and (at < newest.start + width or at == newest.last) then
    newest.last, newest.amount = at, add(newest.amount, amount)
    redis.call('LSET', window.key, -1, bucket_text(newest))
    return at
  end
  local length = redis.call('RPUSH', window.key, bucket_text({start = at, last = at, amount = amount}))
  window.live = true
  if width > 0 and length > 121 then
    local oldest, second = parse(redis.call('LINDEX', window.key, 1)), parse(redis.call('LINDEX', window.key, 2))
    second.start, second.amount = oldest.start, add(oldest.amount, second.amount)
    redis.call('LSET', window.key, 2, bucket_text(second))
    redis.call('LTRIM', window.key, 1, -1)
    redis.call('LSET', window.key, 0, text(window.keep) .. ' ' .. text(window.total) .. ' ' .. text(window.reserved))
  end
  return at
end

-- Removes one request from the bucket of a time, if it is still there.
local function uncharge_window(window, time, span)
  store_window(window, span)
  local index = -1
  local line = redis.call('LINDEX', window.key, index)
  while line and redis.call('LLEN', window.key) + index > 0 do
    local bucket = parse(line)
    if bucket.last < time then return end
    if bucket.start <= time then
      bucket.amount = bucket.amount - 1
      window.total = window.total - 1
      redis.call('LSET', window.key, index, bucket.amount > 0 and bucket_text(bucket) or 'gone')
      if bucket.amount == 0 then redis.call('LREM', window.key, -1, 'gone') end
      store_window(window, span)
      return
    end
    index = index - 1
    line = redis.call('LINDEX', window.key, index)
  end
end

local function load_budget(key)
  local found = redis.call('HMGET', key, 'spent', 'reserved')
  return {key = key, spent = tonumber(found[1] or '0'), reserved = tonumber(found[2] or '0')}
end

-- ends: Unix milliseconds of the end of the period, 0 if there is none.
local function store_budget(budget, ends)
  redis.call('HSET', budget.key, 'spent', text(budget.spent), 'reserved', text(budget.reserved))
  if ends > 0 then
    redis.call('PEXPIREAT', budget.key, text(ends + DAY_MS))
  else
    redis.call('PEXPIRE', budget.key, FOREVER_MS)
  end
end

-- Replaces a reserved amount of a window or a budget with a charge.
local function settle(kind, key, reserved, charge, span, at)
  if kind == 'b' then
    local budget = load_budget(key)
    budget.reserved = math.max(0, budget.reserved - reserved)
    budget.spent = add(budget.spent, charge)
    store_budget(budget, span)
  else
    local window = load_window(key, now)
    window.reserved = math.max(0, window.reserved - reserved)
    charge_window(window, charge, span, math.floor(span / 60), at)
  end
end

-- Charges the reservations of processes whose lease has ended, as of that end. At most 500 per call, to take less than a few
-- milliseconds; the next calls continue.
local function expire_dead()
  local dead = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', text(now), 'WITHSCORES', 'LIMIT', 0, 1)
  if #dead == 0 then return end
  local open = string.gsub(KEYS[1], 'leases$', 'open:' .. dead[1])
  local entries = redis.call('HSCAN', open, 0, 'COUNT', 500)[2]
  for i = 1, #entries, 2 do
    for _, claim in ipairs(cjson.decode(entries[i + 1])) do
      settle(claim[1], claim[2], claim[3], claim[3], claim[4], tonumber(dead[2]))
    end
    redis.call('HDEL', open, entries[i])
  end
  if redis.call('EXISTS', open) == 0 then redis.call('ZREM', KEYS[1], dead[1]) end
end
expire_dead()
`;
