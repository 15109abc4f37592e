-- A script for wrk: it serves an ad and then reports it, again and again. The file TOKENS, if it is named, has a viewer's
-- token in each line, which are used in turn; otherwise the command has the header with the only one.
local serve = "/api/external/ads/serve?surface_type=banner"
local open = {}  -- for each viewer, the ads that aren't reported yet
local threads = {}
local tokens, turn = {}, 0
if os.getenv("TOKENS") then
  for token in io.lines(os.getenv("TOKENS")) do table.insert(tokens, token) end
end
served, paid, missed = 0, 0, 0

function setup(thread)
  table.insert(threads, thread)
end

local function headers()
  if #tokens == 0 then return nil end
  turn = turn % #tokens + 1
  return { ["Authorization"] = "Bearer " .. tokens[turn], ["Content-Type"] = "application/json",
    ["X-Request-Id"] = "viewer-" .. turn }
end

function request()
  local head = headers()
  local one = table.remove(open[turn] or {})
  if not one then return wrk.format("GET", serve, head) end
  return wrk.format("POST", "/api/external/ads/event", head,
    '{"campaign_id":"' .. one[1] .. '","event_type":"impression","impression_token":"' .. one[2] .. '"}')
end

-- The answer's X-Request-Id is the request's, and says whose ad it is.
function response(status, answered, body)
  local token = body:match('"impression_token":"([^"]+)"')
  if token then
    served = served + 1
    local viewer = tonumber((answered["X-Request-Id"] or ""):match("^viewer%-(%d+)$")) or 0
    open[viewer] = open[viewer] or {}
    table.insert(open[viewer], { body:match('"id":"([^"]+)"'), token })
  elseif status == 201 and body:find('"paid":true', 1, true) then
    paid = paid + 1
  else
    missed = missed + 1
  end
end

function done(summary)
  local all = { served = 0, paid = 0, missed = 0 }
  for _, thread in ipairs(threads) do
    for name in pairs(all) do all[name] = all[name] + thread:get(name) end
  end
  print(string.format("ads %d %d %d %d", all.served, all.paid, all.missed, summary.duration))
end
