-- Does one step: checks all conditions, then runs all operations, or does nothing. `encode.rs` writes the arguments,
-- `decode.rs` reads the result: {0, answer...}, {1, condition, holder}, {2, operation, last} or {3, operation, last}.
local call, sub, find, format = redis.call, string.sub, string.find, string.format
local k, a, wrote, clock = 0, 0, false, nil
local logs = {}

local function key() k = k + 1; return KEYS[k] end
local function arg() a = a + 1; return ARGV[a] end
local function write(...) wrote = true; return call(...) end
local function digits(n) return format('%.0f', n) end

local function now()
  if not clock then
    local time = call('TIME')
    clock = time[1] * 1000 + math.floor(time[2] / 1000)
  end
  return clock
end

-- The value of an entry of a map, which is stored as `until:value`; false if it has expired.
local function live(stored)
  if not stored then return false end
  local colon = find(stored, ':', 1, true)
  if tonumber(sub(stored, 1, colon - 1)) <= now() then return false end
  return sub(stored, colon + 1)
end

-- Removes what has expired from a map, and returns how many entries are left.
local function purge(map)
  local all, gone, left = call('HGETALL', map), {}, 0
  for i = 1, #all, 2 do
    if live(all[i + 1]) then left = left + 1 else gone[#gone + 1] = all[i] end
  end
  for i = 1, #gone, 500 do write('HDEL', map, unpack(gone, i, math.min(i + 499, #gone))) end
  return left
end

local guard
if arg() == '1' then guard = key() end

-- A result without a write would also come from a former primary that is a replica now. The guard is a key that never
-- exists: deleting it changes nothing, and a replica refuses it.
local function finish(result)
  if guard and not wrote then call('DEL', guard) end
  return result
end

local check = {
  E = function() return call('EXISTS', key()) == 1 end,
  A = function() return call('EXISTS', key()) == 0 end,
  V = function() return call('GETRANGE', key(), 0, 7) == arg() end,
  F = function()
    local holder = live(call('HGET', key(), arg()))
    return (arg() == holder) or not holder, holder
  end,
  M = function()
    local map, field, limit = key(), arg(), tonumber(arg())
    return call('HLEN', map) < limit or live(call('HGET', map, field)) ~= false or purge(map) < limit
  end,
  R = function()
    local meta = call('HMGET', key(), 'l', 'r')
    return arg() == meta[2] or (meta[1] and not meta[2])
  end,
}

for i = 0, tonumber(arg()) - 1 do
  local holds, holder = check[arg()]()
  if not holds then return finish({1, i, holder or false}) end
end

-- Appends are checked before anything is done: entries may be missing, or the log may have ended.
for _ = 1, tonumber(arg()) do
  local operation, log, writer, first, count, ends =
    tonumber(arg()), key(), arg(), tonumber(arg()), tonumber(arg()), arg() == '1'
  local meta = call('HMGET', log, 'l', 'e', 'n', 'b', 'x', 'r')
  local last = tonumber(meta[1] or 0)
  local present = 0
  if first then
    present = math.min(math.max(last + 1 - first, 0), count)
  elseif ends and meta[5] then
    present = count -- The writer repeats its end: what it wrote the first time is there.
  end
  if meta[5] and (meta[5] ~= writer or present < count) then return finish({3, operation, last}) end
  if first and first > last + 1 then return finish({2, operation, last}) end
  logs[log] = meta
end

local function append(log)
  local meta, writer, first, ends = logs[log], arg(), tonumber(arg()), arg() == '1'
  local room_entries, room_bytes, ttl, count = tonumber(arg()), tonumber(arg()), arg(), tonumber(arg())
  local last, oldest = tonumber(meta[1] or 0), tonumber(meta[2] or 1)
  local droppable, bytes = tonumber(meta[3] or 0), tonumber(meta[4] or 0)
  local number, fields, before = (first or last + 1) - 1, {}, last
  for _ = 1, count do
    local entry = arg()
    number = number + 1
    if number > last and not meta[5] then
      last = number
      fields[#fields + 1] = digits(number)
      fields[#fields + 1] = entry
      if sub(entry, 1, 1) == 'd' then droppable = droppable + 1; bytes = bytes + #entry - 1 end
    end
  end
  for i = 1, #fields, 500 do write('HSET', log, unpack(fields, i, math.min(i + 499, #fields))) end
  if last > before then
    local gone = {}
    while (droppable > room_entries or bytes > room_bytes) and oldest < last do
      local entry = call('HGET', log, digits(oldest))
      if entry and sub(entry, 1, 1) == 'd' then
        droppable = droppable - 1
        bytes = bytes - #entry + 1
        gone[#gone + 1] = digits(oldest)
      end
      oldest = oldest + 1
    end
    for i = 1, #gone, 500 do write('HDEL', log, unpack(gone, i, math.min(i + 499, #gone))) end
  end
  local changed = {'l', digits(last), 'e', digits(oldest), 'n', droppable, 'b', digits(bytes)}
  if ends then changed[9] = 'x'; changed[10] = writer end
  write('HSET', log, unpack(changed))
  write('PEXPIRE', log, ttl)
  return {last, meta[6]}
end

-- The numbers of the entries that are there, when so many were dropped that trying each number takes longer.
local function numbers(log, from)
  local found = {}
  for _, field in ipairs(call('HKEYS', log)) do
    local number = tonumber(field)
    if number and number >= from then found[#found + 1] = number end
  end
  table.sort(found)
  return found
end

local function read(log)
  local after, limit, room = tonumber(arg()), tonumber(arg()), tonumber(arg())
  local meta = call('HMGET', log, 'l', 'x', 'r')
  if not meta[1] then return false end
  local last, entries, taken, bytes = tonumber(meta[1]), {}, 0, 0
  local present
  if last - after > 1000 and last - after > 2 * call('HLEN', log) then present = numbers(log, after + 1) end
  local at, till = 1, present and #present or last - after
  while at <= till and taken < limit do
    local fields = {}
    for i = at, math.min(till, at + math.min(limit, 64) - 1) do
      fields[#fields + 1] = digits(present and present[i] or after + i)
    end
    local found = call('HMGET', log, unpack(fields))
    for i = 1, #fields do
      if found[i] then
        local size = #found[i] - 1
        if taken == limit or (taken > 0 and bytes + size > room) then at = till; break end
        taken = taken + 1
        bytes = bytes + size
        entries[#entries + 1] = tonumber(fields[i])
        entries[#entries + 1] = sub(found[i], 2)
      end
    end
    at = at + #fields
  end
  return {last, meta[2] and 1 or 0, meta[3], entries}
end

local run = {
  G = function()
    local name, known = key(), arg()
    if known ~= '' then
      if call('GETRANGE', name, 0, 7) == known then return known end
    end
    local value = call('GET', name)
    return value and {sub(value, 1, 8), sub(value, 9)}
  end,
  K = function() write('PEXPIRE', key(), arg()) end,
  P = function()
    local name, value, ttl = key(), arg(), arg()
    if ttl == '0' then write('DEL', name) else write('SET', name, value, 'PX', ttl) end
  end,
  D = function() write('UNLINK', key()) end,
  I = function()
    local map, field, value, ttl = key(), arg(), arg(), tonumber(arg())
    if ttl == 0 then write('HDEL', map, field); return end
    local is_new = write('HSET', map, field, digits(now() + ttl) .. ':' .. value) == 1
    if call('PTTL', map) < ttl then write('PEXPIRE', map, digits(ttl)) end
    -- Looking at every 128th entry that is added keeps the cost of an entry constant.
    if is_new and call('HLEN', map) % 128 == 0 then purge(map) end
  end,
  O = function()
    local map, field, any, value = key(), arg(), arg() == '1', arg()
    if any or live(call('HGET', map, field)) == value then write('HDEL', map, field) end
  end,
  L = function()
    local all, entries = call('HGETALL', key()), {}
    for i = 1, #all, 2 do
      local value = live(all[i + 1])
      if value then entries[#entries + 1] = all[i]; entries[#entries + 1] = value end
    end
    return entries
  end,
  A = function() return append(key()) end,
  R = function() return read(key()) end,
  S = function()
    local log, reader = key(), arg()
    if call('EXISTS', log) == 1 then write('HSET', log, 'r', reader) end
  end,
  T = function() call('PUBLISH', arg(), arg()) end,
}

local result = {0}
for i = 2, tonumber(arg()) + 1 do
  result[i] = run[arg()]() or false
end
return finish(result)
