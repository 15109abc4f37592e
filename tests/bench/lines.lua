-- A script for wrk -t1: it sends the requests of the file LINES in turn. Each line has a token and a path, and may have
-- one more word. METHOD is their method. If BODY is set, it is their JSON body: in it "@token@" becomes the request's
-- token, "@more@" the further word, "@keys@" becomes KEYS, and "@n@" a new number each time, and each request gets a new
-- Idempotency-Key that begins with KEYS. The rest of each request is built once.
local method = os.getenv("METHOD")
local body = os.getenv("BODY")
local prefix = os.getenv("KEYS") or ""
local mark = "@n@"
local digits = 12  -- a number always has as many, because Content-Length is built once, too
local built = {}
local at, count = 0, 0

function init()
  if body then body = body:gsub("@keys@", prefix):gsub(mark, string.rep("@", digits)) end
  for line in io.lines(os.getenv("LINES")) do
    local token, path, more = line:match("^(%S+) (%S+) ?(%S*)$")
    local headers = { ["Authorization"] = "Bearer " .. token }
    for name, value in pairs(wrk.headers) do headers[name] = value end
    if body then
      headers["Content-Type"] = "application/json"
      headers["Idempotency-Key"] = prefix .. string.rep("@", digits)
    end
    built[#built + 1] = wrk.format(method, path, headers,
      body and body:gsub("@token@", token):gsub("@more@", more))
  end
end

local places = string.rep("@", digits)

function request()
  at = at % #built + 1
  if not body then return built[at] end
  count = count + 1
  return (built[at]:gsub(places, string.format("%0" .. digits .. "d", count)))
end
