-- Sends POST requests with the file BENCH_BODY; prints the result as one line of JSON.
-- BENCH_TURNS: files with the bodies of a conversation, one per line, instead of BENCH_BODY. Every run of 12 "#" in them is
--   replaced by the number of the conversation, which is never used again. BENCH_CONVERSATIONS of them run at a time, in turn.
--   A single file gives requests whose texts are all new.
-- BENCH_FIRST: the number before that of the first conversation. BENCH_SKIP: requests that an earlier run has sent.
-- BENCH_REST: pause between the requests of a connection in milliseconds.
-- BENCH_PACE: mean of random pauses in milliseconds, exponentially distributed: requests of many connections then arrive
--   independently of each other and of the responses.
-- BENCH_VARIANTS: file with a path and optionally a header name and value per line, used in turn.
local MARK = ("#"):rep(12)
local threads = {}
issued, sentBytes, repeatedBytes = 0, 0, 0

wrk.method = "POST"
wrk.headers["Content-Type"] = "application/json"

local function read(path)
  local file = assert(io.open(path, "rb"))
  local text = file:read("*a")
  file:close()
  return text
end

if os.getenv("BENCH_BODY") then wrk.body = read(os.getenv("BENCH_BODY")) end

if os.getenv("BENCH_TURNS") then
  local ffi = require("ffi")
  local turns, conversations, current = {}, {}, 0
  local number = tonumber(os.getenv("BENCH_FIRST"))

  -- The request is kept in a buffer in which only the numbers are replaced: assembling a string costs more than sending it.
  local function template(body)
    local text = wrk.format(nil, nil, nil, body)
    local marks, from = {}, text:find(MARK, 1, true)
    while from do
      marks[#marks + 1] = from - 1
      from = text:find(MARK, from + #MARK, true)
    end
    local buffer = ffi.new("char[?]", #text)
    ffi.copy(buffer, text, #text)
    return { buffer = buffer, length = #text, bytes = #body, marks = marks }
  end

  local function advance()
    current = current % #conversations + 1
    local conversation = conversations[current]
    if conversation.turn == conversation.last then
      number = number + 1
      conversation.turn, conversation.last, conversation.number = 0, #turns, number
    end
    conversation.turn = conversation.turn + 1
    issued = issued + 1
    return conversation
  end

  function init()
    for path in os.getenv("BENCH_TURNS"):gmatch("[^\n]+") do turns[#turns + 1] = template(read(path)) end
    for index = 1, tonumber(os.getenv("BENCH_CONVERSATIONS")) do
      -- The first conversations end after different numbers of turns, so that later ones do not start at the same time.
      conversations[index] = { turn = 0, last = #turns - index % #turns, number = number + index }
    end
    number = number + #conversations
    for _ = 1, tonumber(os.getenv("BENCH_SKIP")) do advance() end
  end

  function request()
    local conversation = advance()
    local turn = turns[conversation.turn]
    sentBytes = sentBytes + turn.bytes
    if conversation.turn > 1 then repeatedBytes = repeatedBytes + turns[conversation.turn - 1].bytes end
    local buffer, marks, digits = turn.buffer, turn.marks, ("%012d"):format(conversation.number)
    for index = 1, #marks do ffi.copy(buffer + marks[index], digits, #MARK) end
    return ffi.string(buffer, turn.length)
  end
end

if os.getenv("BENCH_VARIANTS") then
  local requests, last = {}, 0
  function init()
    for line in io.lines(os.getenv("BENCH_VARIANTS")) do
      local path, name, value = line:match("^(%S+) ?(%S*) ?(%S*)$")
      if name ~= "" then wrk.headers[name] = value end
      requests[#requests + 1] = wrk.format(nil, path)
    end
  end
  function request()
    last = last % #requests + 1
    return requests[last]
  end
end

if os.getenv("BENCH_REST") then
  local rest = tonumber(os.getenv("BENCH_REST"))
  function delay() return rest end
end

if os.getenv("BENCH_PACE") then
  local mean = tonumber(os.getenv("BENCH_PACE"))
  -- Timers have whole milliseconds; rounding up or down at random keeps the mean.
  function delay() return math.floor(-mean * math.log(1 - math.random()) + math.random()) end
end

function setup(thread) threads[#threads + 1] = thread end

function done(summary, latency)
  local errors = summary.errors
  local counted = { issued = 0, sentBytes = 0, repeatedBytes = 0 }
  for _, thread in ipairs(threads) do
    for name, count in pairs(counted) do counted[name] = count + thread:get(name) end
  end
  io.write(string.format(
    '\nRESULT {"requests":%d,"microseconds":%d,"p50":%d,"p99":%d,"errorResponses":%d,"failedConnections":%d,' ..
    '"issued":%.0f,"sentBytes":%.0f,"repeatedBytes":%.0f}\n',
    summary.requests, summary.duration, latency:percentile(50), latency:percentile(99), errors.status,
    errors.connect + errors.read + errors.write + errors.timeout, counted.issued, counted.sentBytes,
    counted.repeatedBytes))
end
