// The Lua scripts for the epochs of Redis, and for budgets whose amounts are compared with the database. See redis-library.ts for the keys
// and arguments that they share.
import { LIBRARY } from "./redis-library.ts";
import { PRESUMED } from "./spent-journal.ts";

/** In place of a process. */
const EARLIER_VERSION = "earlier-version";
/** Every script renews it. */
const EPOCH_KEPT_MS = 400 * 86_400_000;
/** Clearly less than the time for which the database keeps the sums of processes that do not write any more. */
const FORGOTTEN_DAYS = 30;
/** A process that is alive has written its sums by then. */
const WRITTEN_AFTER_MS = 60_000;

/**
 * Replies 1 if the budget was compared with the database, and spent, reserved, and version of each budget KEYS[4…].
 */
export const READ_SCRIPT = `${LIBRARY}
expire_dead()
local reply = {}
for i = 4, #KEYS do
  local budget = load_budget(KEYS[i])
  local base = 4 * (i - 4)
  reply[base + 1], reply[base + 2] = budget.seeded and 1 or 0, budget.spent
  reply[base + 3], reply[base + 4] = budget.reserved, budget.version
end
return reply
`;

/** Replies the processes that have spent of the budget KEYS[4], and what each has spent in total; `~` is what was presumed. */
export const SUMS_SCRIPT = `${LIBRARY}
local reply, fields = {}, redis.call('HGETALL', KEYS[4])
for i = 1, #fields, 2 do
  if string.sub(fields[i], 1, 1) == '@' then
    reply[#reply + 1] = string.sub(fields[i], 2)
    reply[#reply + 1] = text(sum_in(fields[i + 1]))
  elseif fields[i] == 'presumed' then
    reply[#reply + 1] = '${PRESUMED}'
    reply[#reply + 1] = fields[i + 1]
  end
end
return reply
`;

/**
 * Sets what is spent of the budget KEYS[4] to what the database has and processes have spent since they last wrote. ARGV[4] is the end of
 * the period, ARGV[5] what is spent in the database, ARGV[6] the version there, ARGV[7] whether it was just reset; then follow processes and
 * their sums there.
 *
 * In the same epoch, without a change by an operator, the amount does not decrease: reservations of dead processes are charged in Redis
 * before they are in the database. Replies by how much it was raised, spent, reserved, and 1 if the database does not have sums that nobody
 * will write: those of processes that were killed, and the amount of a version that kept no sums.
 */
export const SEED_SCRIPT = `${LIBRARY}
local budget = load_budget(KEYS[4])
local version = tonumber(ARGV[6])
if budget.seeded and budget.version > version then return {0, budget.spent, budget.reserved, 0} end
-- Amounts of versions that kept no sums are one sum, to be written to the database.
local is_unknown = budget.spent > 0 and redis.call('HEXISTS', KEYS[4], 'epoch') == 0
if is_unknown then redis.call('HSET', KEYS[4], '@${EARLIER_VERSION}', sum_text(budget.spent)) end
local is_missing = is_unknown
local is_changed, merged, known = version > budget.version, tonumber(ARGV[5]), {}
for i = 8, #ARGV, 2 do known['@' .. ARGV[i]] = tonumber(ARGV[i + 1]) end
-- What both have presumed is that of the same processes.
enter_epoch(KEYS[4])
if ARGV[7] == 'clear' then redis.call('HSET', KEYS[4], 'presumed', '0') end
local presumed = tonumber(redis.call('HGET', KEYS[4], 'presumed') or '0')
merged = add(merged, math.max(0, presumed - (known['@${PRESUMED}'] or 0)))
known['@${PRESUMED}'] = nil
local fields = redis.call('HGETALL', KEYS[4])
for i = 1, #fields, 2 do
  local name = fields[i]
  if string.sub(name, 1, 1) == '@' then
    local sum, written = sum_in(fields[i + 1]), known[name]
    local noted = tonumber(string.match(fields[i + 1], '%d+$'))
    -- The database removes sums of processes that have not written for 60 days. It has never had other sums that it does not know.
    if not written and noted < now - ${FORGOTTEN_DAYS} * DAY_MS * 1000 then redis.call('HDEL', KEYS[4], name)
    else
      merged = add(merged, math.max(0, sum - (written or 0)))
      if sum > (written or 0) and noted < now - ${WRITTEN_AFTER_MS} * 1000 then is_missing = true end
      if written and sum >= written then known[name] = nil end
    end
  end
end
for name, sum in pairs(known) do redis.call('HSET', KEYS[4], name, sum_text(sum)) end
local raised = merged - budget.spent
if budget.seeded and not is_changed and raised < 0 then merged, raised = budget.spent, 0 end
redis.call('HSET', KEYS[4], 'spent', text(merged), 'seeded', epoch, 'version', text(version))
expire_budget(KEYS[4], tonumber(ARGV[4]))
return {raised, merged, budget.reserved, is_missing and 1 or 0}
`;

/**
 * KEYS[1] is the epoch of a gateway. ARGV[1] is the time in µs or 0, ARGV[2] the process of Redis, empty if that is not known, ARGV[3] the
 * id of a new epoch, ARGV[4] whether the data may be older than what the caller or others know, 1 or 0. It begins if there is none, if
 * another process of Redis has written last, which may have had more, or if that is not known. Replies the id of the epoch, when it began,
 * and until when the data before it reaches, 0 if there was none.
 */
export const EPOCH_SCRIPT = `
local now = tonumber(ARGV[1])
if now == 0 then
  local time = redis.call('TIME')
  now = time[1] * 1000000 + time[2]
end
local found = redis.call('HMGET', KEYS[1], 'id', 'server', 'since', 'before', 'seen')
local is_same = found[2] == ARGV[2] or ARGV[2] == ''
if found[1] and is_same and ARGV[4] ~= '1' then return {found[1], found[3], found[4]} end
local time, before = string.format('%d', now), found[5] or '0'
redis.call('HSET', KEYS[1], 'id', ARGV[3], 'server', ARGV[2], 'since', time, 'seen', time, 'before', before)
redis.call('PEXPIRE', KEYS[1], ${EPOCH_KEPT_MS})
return {ARGV[3], time, before}
`;

/** Of all gateways, so without a hash tag. It does not expire. */
export const INSTALLATION_KEY = "gatehouse:installation";

/** Replies the installation that KEYS[1] names: ARGV[1] if it named none. */
export const CLAIM_SCRIPT = `
redis.call('SET', KEYS[1], ARGV[1], 'NX')
return redis.call('GET', KEYS[1])
`;
