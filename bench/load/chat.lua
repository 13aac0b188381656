-- Sends POST requests with the file BENCH_BODY; prints the result as one line of JSON.
-- BENCH_REST: pause between the requests of a connection in milliseconds.
-- BENCH_VARIANTS: file with a path and optionally a header name and value per line, used in turn.
local file = assert(io.open(os.getenv("BENCH_BODY"), "rb"))
wrk.method = "POST"
wrk.body = file:read("*a")
wrk.headers["Content-Type"] = "application/json"
file:close()

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

function done(summary, latency)
  local errors = summary.errors
  io.write(string.format(
    '\nRESULT {"requests":%d,"microseconds":%d,"p50":%d,"p99":%d,"errorResponses":%d,"failedConnections":%d}\n',
    summary.requests, summary.duration, latency:percentile(50), latency:percentile(99), errors.status,
    errors.connect + errors.read + errors.write + errors.timeout))
end
