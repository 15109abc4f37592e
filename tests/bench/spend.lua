-- A script for wrk: it POSTs the JSON in BODY, with a new Idempotency-Key each time. The rest of the request is built
-- once, so that wrk uses as little of the machine as possible.
local prefix = os.getenv("KEYS")
local mark = "@key@"
local before, after
local count = 0

wrk.method = "POST"
wrk.body = os.getenv("BODY")
wrk.headers["Content-Type"] = "application/json"

function init()
  wrk.headers["Idempotency-Key"] = mark
  before, after = wrk.format():match("^(.-)" .. mark .. "(.*)$")
end

function request()
  count = count + 1
  return before .. prefix .. count .. after
end
