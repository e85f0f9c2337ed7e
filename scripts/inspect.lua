-- Inspect: what is there under a lock's name, and who waits for it.
-- KEYS[1]  lock name
-- KEYS[2], KEYS[3]  its lines, without fencing and with it, if they are asked for
-- ARGV[1]  the longest value of a lock, in bytes
-- Returns words, with line feeds between: how many tokens stand in line, the first of them, time to
-- live in milliseconds (-1: for ever, -2: the name is free), how many readers there are, the value, or
-- their tokens, that of the longest last. What the ACL forbids of a line, or is none, counts as an empty one.
-- Returns an error, WRONGTYPE or MUXLOCKVALUE, where no lock can be what is there. A string of
-- any size is read within the server, since STRLEN is not among a lock's commands, but not sent.
local value, readers = redis.pcall('GET', KEYS[1]), {}
if type(value) == 'table' then
  local set = redis.pcall('ZRANGE', KEYS[1], 0, -1, 'WITHSCORES')
  if set.err then return value end
  local clock = redis.call('TIME')
  for i = 1, #set, 2 do
    if set[i + 1] - clock[1] * 1000 > clock[2] / 1000 or i == #set - 1 then readers[#readers + 1] = set[i] end
  end
  value = table.concat(readers, '\n')
elseif value == '' or value and #value > tonumber(ARGV[1]) then
  return redis.error_reply('MUXLOCKVALUE a string of ' .. #value .. ' bytes')
elseif value and value:byte() == 126 and value:byte(26) == 64 then -- a lone reader, see shared
  readers[1] = value
end
local waiting, first = 0, nil
for i = 2, #KEYS do
  local n = redis.pcall('ZCARD', KEYS[i])
  local tokens = redis.pcall('ZRANGE', KEYS[i], 0, 0)
  waiting = waiting + (type(n) == 'number' and n or 0)
  first = first or tokens[1]
end
return table.concat({waiting, (first or ''):match('^[^\n]*'), redis.call('PTTL', KEYS[1]), #readers, value or ''}, '\n')
