// Lua functions for the sliding windows of the ledger in Redis. They do the same as those of window.ts.

/**
 * A window is a list. Its first element is a header of eight packed numbers: the longest window used with it, the sum of its
 * buckets, the sum of open reservations, its expiry in ms, the end of the oldest of the following buckets (0 if there are
 * none), and the newest bucket (end, amount, start; amount 0 if there is none). Then follow the other buckets as text, oldest
 * first: `end amount start`, shortened to `end` for one request, which takes 10 bytes. Most calls read and write the header only:
 * a call of redis.call takes 1 to 2 µs, formatting or parsing a number as text 0.6 µs.
 */
export const WINDOWS = `
local HEADER = '>dddddddd'

local function parse(line)
  local last, amount, start = string.match(line, '^(%d+) ?(%d*) ?(%d*)$')
  last = tonumber(last)
  return {last = last, amount = tonumber(amount) or 1, start = tonumber(start) or last}
end

local function bucket_text(last, amount, start)
  if start ~= last then return string.format('%d %d %d', last, amount, start) end
  if amount ~= 1 then return string.format('%d %d', last, amount) end
  return text(last)
end

-- Calls visit for each bucket from the oldest on until it returns true.
local function each_bucket(window, visit)
  local from = 1 + window.expired
  local chunk = window.oldest > 0 and redis.call('LRANGE', window.key, from, from + 63) or {}
  while #chunk > 0 do
    for _, line in ipairs(chunk) do
      if visit(parse(line)) then return end
    end
    from = from + #chunk
    chunk = redis.call('LRANGE', window.key, from, from + 63)
  end
  if window.amount > 0 then visit(window) end
end

-- If the clock was set back by more than a second, the amounts are dropped: waiting for the clock could take hours.
local function is_live(window, last, at) return last > at - window.keep and last <= at + 1000000 end

local function drop_expired(window, at)
  local capped = window.total == MAX
  local expired, oldest = 0, 0
  each_bucket(window, function(bucket)
    if is_live(window, bucket.last, at) then
      if bucket ~= window then oldest = bucket.last end
      return true
    end
    window.total = window.total - bucket.amount
    if bucket == window then window.amount = 0 else expired = expired + 1 end
  end)
  window.expired, window.oldest = expired, oldest
  if window.amount == 0 then window.total = 0 end
  if capped and window.amount > 0 then
    window.total = 0
    each_bucket(window, function(bucket) window.total = add(window.total, bucket.amount) end)
  end
end

-- expired: the number of elements after the header to remove.
local function new_window(key)
  return {key = key, keep = 0, total = 0, reserved = 0, expires = 0, oldest = 0, last = 0, amount = 0, start = 0, expired = 0}
end

local function load_window(key, at)
  local header = redis.call('LINDEX', key, 0)
  local window = new_window(key)
  if not header then return window end
  window.exists = true
  window.keep, window.total, window.reserved, window.expires, window.oldest, window.last, window.amount, window.start =
    struct.unpack(HEADER, header)
  if window.amount > 0 and not is_live(window, window.oldest > 0 and window.oldest or window.last, at) then
    drop_expired(window, at)
  end
  return window
end

-- Calls visit for each bucket of the last span µs.
local function each_in(window, span, at, visit)
  each_bucket(window, function(bucket)
    if bucket.last > at - span then return visit(bucket) end
  end)
end

local function settled_in(window, span, at)
  if span >= window.keep then return window.total end
  local sum = 0
  each_in(window, span, at, function(bucket) sum = add(sum, bucket.amount) end)
  return sum
end

local function oldest_in(window, span, at)
  if window.amount == 0 then return at end
  if span >= window.keep then return window.oldest > 0 and window.oldest or window.last end
  local oldest = at
  each_in(window, span, at, function(bucket)
    oldest = bucket.last
    return true
  end)
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

-- Removes the buckets that have left. The trim removes the header too; the last removed bucket takes its place and is overwritten.
local function trim(window)
  if window.expired > 0 then redis.call('LTRIM', window.key, window.expired, -1) end
  window.expired = 0
end

-- The time to live is longer than needed, so that not every call has to extend it.
local function store_window(window, span)
  trim(window)
  local time = math.floor(now / 1000)
  local keep = math.ceil(math.max(window.keep, span) / 1000)
  local needed, slack = time + keep, math.ceil(keep / 4)
  -- A reservation may be open for longer than its window.
  if window.reserved > 0 then needed, slack = needed + DAY_MS, HOUR_MS end
  local lives = window.expires >= needed and window.expires <= needed + slack
  if not lives then window.expires = needed + slack end
  local header = struct.pack(HEADER, window.keep, window.total, window.reserved, window.expires, window.oldest, window.last,
    window.amount, window.start)
  if window.exists then redis.call('LSET', window.key, 0, header) else redis.call('RPUSH', window.key, header) end
  window.exists = true
  if not lives then redis.call('PEXPIRE', window.key, window.expires - time) end
end

-- Adds a settled amount and stores the window. Returns the time of the amount. A width of 0 keeps every time apart.
local function charge_window(window, amount, span, width, at)
  if amount == 0 then
    store_window(window, span)
    return at
  end
  if window.amount > 0 then
    at = math.max(at, window.last)
    window.keep = math.max(window.keep, span)
  else
    window.keep = span
  end
  window.total = add(window.total, amount)
  if window.amount > 0 and (at < window.start + width or at == window.last) then
    window.last, window.amount = at, add(window.amount, amount)
    store_window(window, span)
    return at
  end
  if window.amount > 0 then
    trim(window)
    local length = redis.call('RPUSH', window.key, bucket_text(window.last, window.amount, window.start))
    if window.oldest == 0 then window.oldest = window.last end
    -- A window that was shortened by an operator would grow without this. No decision of an exact limit depends on more requests.
    if length > (width > 0 and 120 or 10000) then
      local oldest, second = parse(redis.call('LINDEX', window.key, 1)), parse(redis.call('LINDEX', window.key, 2))
      redis.call('LSET', window.key, 2, bucket_text(second.last, add(oldest.amount, second.amount), oldest.start))
      window.oldest, window.expired = second.last, 1
    end
  end
  window.last, window.amount, window.start = at, amount, at
  store_window(window, span)
  return at
end

-- Makes the last bucket of the list the newest one, after that has become empty.
local function reopen_bucket(window)
  trim(window)
  local line = window.oldest > 0 and redis.call('RPOP', window.key)
  if not line then return end
  local bucket = parse(line)
  window.last, window.amount, window.start = bucket.last, bucket.amount, bucket.start
  if redis.call('LLEN', window.key) == 1 then window.oldest = 0 end
end

-- Removes an amount from a bucket of the list.
local function uncharge_bucket(window, index, bucket, amount)
  local removed = math.min(amount, bucket.amount)
  window.total = window.total - removed
  if bucket.amount > removed then
    redis.call('LSET', window.key, index, bucket_text(bucket.last, bucket.amount - removed, bucket.start))
    return
  end
  redis.call('LSET', window.key, index, 'gone')
  redis.call('LREM', window.key, -1, 'gone')
  local first = redis.call('LINDEX', window.key, 1)
  window.oldest = first and parse(first).last or 0
end

-- Removes an amount, 1 for a request, from the bucket of a time, if it is still there.
local function uncharge_window(window, time, span, amount)
  trim(window)
  if window.amount > 0 and window.last >= time then
    if window.start <= time then
      local removed = math.min(amount, window.amount)
      window.total, window.amount = window.total - removed, window.amount - removed
      if window.amount == 0 then reopen_bucket(window) end
    else
      local length = window.oldest > 0 and redis.call('LLEN', window.key) or 1
      for index = length - 1, 1, -1 do
        local bucket = parse(redis.call('LINDEX', window.key, index))
        if bucket.last < time then break end
        if bucket.start <= time then
          uncharge_bucket(window, index, bucket, amount)
          break
        end
      end
    end
  end
  store_window(window, span)
end
`;
