-- Enters a server, unless it cannot read the data, and raises the format once no server is left that only knows the former one.
-- Returns the format in use. Servers of other versions run other versions of this script, so these two keys never change:
-- KEYS[1], the number, and KEYS[2], a hash of `number:until` for each server.
-- ARGV: the format of the server, its id, milliseconds until it counts as gone, the format in use that it knows of, or 0.
local own, known = tonumber(ARGV[1]), tonumber(ARGV[4])
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local found = redis.call('GET', KEYS[1])
if not found and known > 0 then
  -- Redis has lost its data. This entry stands for the servers that have not entered again.
  redis.call('HSET', KEYS[2], 'lost', string.format('%s:%.0f', ARGV[4], now + ARGV[3]))
end
if not found or (tonumber(found) or known) < known then
  found = known > 0 and ARGV[4] or ARGV[1]
  redis.call('SET', KEYS[1], found)
end
local format = tonumber(found)
if not format or format > own or format < own - 1 then return found end
redis.call('HSET', KEYS[2], ARGV[2], string.format('%s:%.0f', ARGV[1], now + ARGV[3]))
redis.call('PEXPIRE', KEYS[2], ARGV[3])
local servers, is_former_left = redis.call('HGETALL', KEYS[2]), false
for i = 1, #servers, 2 do
  local number, till = string.match(servers[i + 1], '^(%d+):(%d+)$')
  if not till or tonumber(till) <= now then
    redis.call('HDEL', KEYS[2], servers[i])
  elseif tonumber(number) < own then
    is_former_left = true
  end
end
if format < own and not is_former_left then
  found = ARGV[1]
  redis.call('SET', KEYS[1], found)
end
return found
