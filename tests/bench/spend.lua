-- For wrk: POST of the JSON in BODY, each with an Idempotency-Key of its own.
local prefix = os.getenv("KEYS")
local count = 0

wrk.method = "POST"
wrk.body = os.getenv("BODY")
wrk.headers["Content-Type"] = "application/json"

function request()
  count = count + 1
  wrk.headers["Idempotency-Key"] = prefix .. count
  return wrk.format()
end
