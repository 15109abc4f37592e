-- For wrk: POST of the JSON in BODY, each with an Idempotency-Key of its own. The rest of the request is made once:
-- the machine is to be busy with answering.
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
