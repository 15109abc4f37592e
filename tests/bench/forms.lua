-- A script for wrk -t1: it POSTs the form bodies in the file BODIES, which has one on each line.
-- MODE is one of three. cycle: sends all bodies over and over. once: sends each body once, until all
-- have been sent. chain: sends each body once, and then again with the refresh_token of the response
-- in place of its own, so that the tokens rotate.
-- Prints as JSON how many responses had the status 200, and in how many seconds.
local ffi = require("ffi")
ffi.cdef("typedef struct { long seconds, nanos; } moment; int clock_gettime(int, moment *);")

local mode = os.getenv("MODE")
local thread_of_run

local function seconds()
  local now = ffi.new("moment")
  ffi.C.clock_gettime(1, now)
  return tonumber(now.seconds) + tonumber(now.nanos) / 1e9
end

wrk.method = "POST"
wrk.headers["Content-Type"] = "application/x-www-form-urlencoded"

function setup(thread)
  thread_of_run = thread
end

function init()
  bodies, at = {}, 0
  for line in io.lines(os.getenv("BODIES")) do bodies[#bodies + 1] = line end
  answered, refused, started, ended = 0, 0, 0, 0
end

function request()
  if started == 0 then started = seconds() end
  if mode == "cycle" then
    at = at % #bodies + 1
    return wrk.format(nil, nil, nil, bodies[at])
  end
  if #bodies == 0 then return wrk.format(nil, nil, nil, "nothing=left") end
  return wrk.format(nil, nil, nil, table.remove(bodies))
end

if mode ~= "cycle" then
  local function count(status)
    if status == 200 then
      answered, ended = answered + 1, seconds()
    else
      refused = refused + 1
    end
  end

  local rest = (os.getenv("REST") or "")

  function response(status, _, body)
    count(status)
    if mode == "chain" and status == 200 then
      local fresh = body:match('"refresh_token":"([^"]+)"')
      bodies[#bodies + 1] = "refresh_token=" .. fresh .. rest
    end
    if mode == "once" and #bodies == 0 then wrk.thread:stop() end
  end
end

function done(summary)
  local one = thread_of_run
  local count, refusals = one:get("answered"), one:get("refused")
  local time = one:get("ended") - one:get("started")
  if mode == "cycle" then
    count, refusals, time = summary.requests, summary.errors.status, summary.duration / 1e6
  end
  io.write(string.format('{"answered":%d,"refused":%d,"seconds":%.6f}\n', count, refusals, time))
end
