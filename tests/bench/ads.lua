-- A script for wrk: it serves an ad and then reports it, again and again.
local serve = "/api/external/ads/serve?surface_type=banner"
local open = {}
local threads = {}
served, paid, missed = 0, 0, 0

function setup(thread)
  table.insert(threads, thread)
end

function request()
  local one = table.remove(open)
  if not one then return wrk.format("GET", serve) end
  return wrk.format("POST", "/api/external/ads/event", nil,
    '{"campaign_id":"' .. one[1] .. '","event_type":"impression","impression_token":"' .. one[2] .. '"}')
end

function response(status, _, body)
  local token = body:match('"impression_token":"([^"]+)"')
  if token then
    served = served + 1
    table.insert(open, { body:match('"id":"([^"]+)"'), token })
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
