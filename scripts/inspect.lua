-- Inspect: what is there under a lock's name.
-- KEYS[1]  lock name
-- ARGV[1]  the longest value of a lock, in bytes
-- Returns  time to live in milliseconds (-1: for ever), a blank, the value | nil: the name is free
-- Returns an error, WRONGTYPE or MUXLOCKVALUE, where no lock can be what is there. A string of
-- any size is read within the server, since STRLEN is not among a lock's commands, but not sent.
local value = redis.pcall('GET', KEYS[1])
if not value or type(value) == 'table' then return value end
if value == '' or #value > tonumber(ARGV[1]) then
  return redis.error_reply('MUXLOCKVALUE a string of ' .. #value .. ' bytes')
end
return redis.call('PTTL', KEYS[1]) .. ' ' .. value
