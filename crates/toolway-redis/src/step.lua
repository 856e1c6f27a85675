-- Does one step: checks all conditions, then runs all operations, or does nothing. `encode.rs` writes the arguments,
-- `decode.rs` reads the result: {0, answer...}, {1, condition, holder}, {2, operation, last} or {3, operation, last}.
--
-- It is one flat text, because each function and table that a script defines is made anew at each call: as functions of
-- a table the branches below took longer than the commands that they send.
local call, sub, digits = redis.call, string.sub, '%.0f'
local keys, args = KEYS, ARGV
local k, a = 0, 1 -- The positions of the last key and the last argument that were read.
local wrote, clock, guard, logs = false, nil, nil, nil

-- The value of an entry of a map, which is stored as `until:value`; false if there is none or it has expired.
local function live(stored)
  if not stored then return false end
  if not clock then
    local time = call('TIME')
    clock = time[1] * 1000 + math.floor(time[2] / 1000)
  end
  local colon = string.find(stored, ':', 1, true)
  return tonumber(sub(stored, 1, colon - 1)) > clock and sub(stored, colon + 1)
end

-- Removes what has expired from a map, and returns how many entries are left.
local function purge(map)
  local all, gone, left = call('HGETALL', map), {}, 0
  for i = 1, #all, 2 do
    if live(all[i + 1]) then left = left + 1 else gone[#gone + 1] = all[i] end
  end
  for i = 1, #gone, 500 do
    wrote = true
    call('HDEL', map, unpack(gone, i, math.min(i + 499, #gone)))
  end
  return left
end

-- A result without a write would also come from a former primary that is a replica now. The guard is a key that never
-- exists: deleting it changes nothing, and a replica refuses it.
if args[1] == '1' then
  guard = keys[1]
  k = 1
end

a = a + 1
for i = 0, tonumber(args[a]) - 1 do
  local code, name, holds, holder = args[a + 1], keys[k + 1], false, false
  k = k + 1
  a = a + 1
  if code == 'E' then
    holds = call('EXISTS', name) == 1
  elseif code == 'A' then
    holds = call('EXISTS', name) == 0
  elseif code == 'V' then
    holds = call('GETRANGE', name, 0, 7) == args[a + 1]
    a = a + 1
  elseif code == 'F' then
    holder = live(call('HGET', name, args[a + 1]))
    holds = not holder or holder == args[a + 2]
    a = a + 2
  elseif code == 'M' then
    local limit = tonumber(args[a + 2])
    holds = call('HLEN', name) < limit or live(call('HGET', name, args[a + 1])) or purge(name) < limit
    a = a + 2
  else -- 'R'
    local meta = call('HMGET', name, 'l', 'r')
    holds = meta[1] and (not meta[2] or meta[2] == args[a + 1])
    a = a + 1
  end
  if not holds then
    if guard and not wrote then call('DEL', guard) end
    return {1, i, holder}
  end
end

-- Appends are checked before anything is done: entries may be missing, or the log may have ended.
a = a + 1
for _ = 1, tonumber(args[a]) do
  local log, writer, first, count = keys[k + 1], args[a + 2], tonumber(args[a + 3]), tonumber(args[a + 4])
  local meta = call('HMGET', log, 'l', 'e', 'n', 'b', 'x', 'r')
  local last, present, kind = tonumber(meta[1] or 0), 0, nil
  if first then
    present = math.min(math.max(last + 1 - first, 0), count)
  elseif meta[5] and args[a + 5] == '1' then
    present = count -- The writer repeats its end: what it wrote the first time is there.
  end
  if meta[5] and (meta[5] ~= writer or present < count) then
    kind = 3
  elseif first and first > last + 1 then
    kind = 2
  end
  if kind then
    if guard and not wrote then call('DEL', guard) end
    return {kind, tonumber(args[a + 1]), last}
  end
  logs = logs or {}
  logs[log] = meta
  k = k + 1
  a = a + 5
end

a = a + 1
local result = {0}
for i = 2, tonumber(args[a]) + 1 do
  local code, name, answer = args[a + 1], keys[k + 1], false
  k = k + 1
  a = a + 1
  if code == 'G' then -- Get
    local known = args[a + 1]
    if known ~= '' and call('GETRANGE', name, 0, 7) == known then
      answer = known
    else
      local value = call('GET', name)
      answer = value and {sub(value, 1, 8), sub(value, 9)}
    end
    a = a + 1
  elseif code == 'K' then -- Renew, RenewLog
    wrote = true
    call('PEXPIRE', name, args[a + 1])
    a = a + 1
  elseif code == 'P' then -- Put
    wrote = true
    if args[a + 2] == '0' then call('DEL', name) else call('SET', name, args[a + 1], 'PX', args[a + 2]) end
    a = a + 2
  elseif code == 'D' then -- Delete, Clear, DeleteLog
    wrote = true
    call('UNLINK', name)
  elseif code == 'I' then -- Enter
    local field, ttl = args[a + 1], tonumber(args[a + 3])
    wrote = true
    if ttl == 0 then
      call('HDEL', name, field)
    else
      live('0:') -- Reads the clock.
      local is_new = call('HSET', name, field, digits:format(clock + ttl) .. ':' .. args[a + 2]) == 1
      if call('PTTL', name) < ttl then call('PEXPIRE', name, args[a + 3]) end
      -- Looking at every 128th entry that is added keeps the cost of an entry constant.
      if is_new and call('HLEN', name) % 128 == 0 then purge(name) end
    end
    a = a + 3
  elseif code == 'O' then -- Leave
    if args[a + 2] == '1' or live(call('HGET', name, args[a + 1])) == args[a + 3] then
      wrote = true
      call('HDEL', name, args[a + 1])
    end
    a = a + 3
  elseif code == 'L' then -- Entries
    local all = call('HGETALL', name)
    answer = {}
    for j = 1, #all, 2 do
      local value = live(all[j + 1])
      if value then
        answer[#answer + 1] = all[j]
        answer[#answer + 1] = value
      end
    end
  elseif code == 'A' then -- Append
    local meta, first, count = logs[name], tonumber(args[a + 2]), tonumber(args[a + 7])
    local room_entries, room_bytes = tonumber(args[a + 4]), tonumber(args[a + 5])
    local before, oldest = tonumber(meta[1] or 0), tonumber(meta[2] or 1)
    local droppable, bytes = tonumber(meta[3] or 0), tonumber(meta[4] or 0)
    local last, number, fields = before, (first or before + 1) - 1, {}
    wrote = true
    if not meta[5] then -- Of a log that has ended, all entries are there.
      for j = a + 8, a + 7 + count do
        local entry = args[j]
        number = number + 1
        if number > last then
          last = number
          fields[#fields + 1] = digits:format(number)
          fields[#fields + 1] = entry
          if sub(entry, 1, 1) == 'd' then
            droppable = droppable + 1
            bytes = bytes + #entry - 1
          end
        end
      end
    end
    if last > before then
      local gone = {}
      while (droppable > room_entries or bytes > room_bytes) and oldest < last do
        local field, entry = digits:format(oldest), nil
        if oldest > before then
          entry = fields[(oldest - before) * 2]
        else
          entry = call('HGET', name, field)
        end
        if entry and sub(entry, 1, 1) == 'd' then
          droppable = droppable - 1
          bytes = bytes - #entry + 1
          gone[#gone + 1] = field
        end
        oldest = oldest + 1
      end
      for j = 501, #fields, 500 do call('HSET', name, unpack(fields, j, math.min(j + 499, #fields))) end
      for j = #fields, 501, -1 do fields[j] = nil end
      fields[#fields + 1] = 'e'
      fields[#fields + 1] = digits:format(oldest)
      fields[#fields + 1] = 'n'
      fields[#fields + 1] = digits:format(droppable)
      fields[#fields + 1] = 'b'
      fields[#fields + 1] = digits:format(bytes)
      fields[#fields + 1] = 'l'
      fields[#fields + 1] = digits:format(last)
      if args[a + 3] == '1' then
        fields[#fields + 1] = 'x'
        fields[#fields + 1] = args[a + 1]
      end
      call('HSET', name, unpack(fields))
      for j = 1, #gone, 500 do call('HDEL', name, unpack(gone, j, math.min(j + 499, #gone))) end
    elseif args[a + 3] == '1' then
      call('HSET', name, 'l', digits:format(last), 'x', args[a + 1])
    elseif not meta[1] then
      call('HSET', name, 'l', '0')
    end
    call('PEXPIRE', name, args[a + 6])
    answer = {last, meta[6]}
    a = a + 7 + count
  elseif code == 'R' then -- Read
    local after, limit, room = tonumber(args[a + 1]), tonumber(args[a + 2]), tonumber(args[a + 3])
    local meta = call('HMGET', name, 'l', 'x', 'r')
    if meta[1] then
      local last, entries, taken, bytes, present = tonumber(meta[1]), {}, 0, 0, nil
      if last - after > 1000 and last - after > 2 * call('HLEN', name) then
        -- So many entries were dropped that trying each number would take longer than listing them.
        present = {}
        for _, field in ipairs(call('HKEYS', name)) do
          local number = tonumber(field)
          if number and number > after then present[#present + 1] = number end
        end
        table.sort(present)
      end
      local at, till = 1, present and #present or last - after
      while at <= till and taken < limit do
        local fields = {}
        for j = at, math.min(till, at + math.min(limit, 64) - 1) do
          fields[#fields + 1] = digits:format(present and present[j] or after + j)
        end
        local found = call('HMGET', name, unpack(fields))
        for j = 1, #fields do
          if found[j] then
            local size = #found[j] - 1
            if taken == limit or (taken > 0 and bytes + size > room) then
              at = till
              break
            end
            taken = taken + 1
            bytes = bytes + size
            entries[#entries + 1] = tonumber(fields[j])
            entries[#entries + 1] = sub(found[j], 2)
          end
        end
        at = at + #fields
      end
      answer = {last, meta[2] and 1 or 0, meta[3], entries}
    end
    a = a + 3
  elseif code == 'S' then -- SetReader
    if call('EXISTS', name) == 1 then
      wrote = true
      call('HSET', name, 'r', args[a + 1])
    end
    a = a + 1
  else -- 'T': Publish, which has no key.
    k = k - 1
    call('PUBLISH', args[a + 1], args[a + 2])
    a = a + 2
  end
  result[i] = answer
end
if guard and not wrote then call('DEL', guard) end
return result
