-- Fenced acquire: take many locks in one call, each with the next token of its register.
-- KEYS[1]      the set's description
-- KEYS[2]      the registers, a hash
-- KEYS[2+i]    lock name of entry i, of n
-- ARGV[1]      the description that the caller expects
-- ARGV[1+i]    token value of entry i
-- ARGV[1+n+i]  its register
-- ARGV[1+2n+i] a token that the next one must exceed, whatever the register holds
-- ARGV[2+3n..] runs of entries that are alike, as pairs: ttl in milliseconds, how many
-- Returns one word per entry, with blanks between:
--   a number  granted, with that fencing token
--   '0'       held by another
--   'e'       the command failed, or the register holds no number below 2^37-1
-- and, if any entry failed, a line feed and the last error's text.
-- Returns the error MUXLOCKSET, and has done nothing, where the description is another.
-- Everything is checked first; the registers are written before the locks.
local pcall, tonumber = redis.pcall, tonumber
local n = #KEYS - 2
if redis.call('GET', KEYS[1]) ~= ARGV[1] then
  return redis.error_reply('MUXLOCKSET the master is not, or not any more, of the set that the caller expects')
end
local held = redis.call('MGET', unpack(KEYS, 3))
local registers = redis.call('HMGET', KEYS[2], unpack(ARGV, n + 2, 2 * n + 1))

local votes, fault = {}, ''
local last, writes = {}, {} -- by register: its value now, and where it is in writes
for i = 1, n do
  if held[i] then
    votes[i] = '0'
  else
    local r = ARGV[1 + n + i]
    local value, least = last[r] or tonumber(registers[i] or 0), tonumber(ARGV[1 + 2 * n + i])
    if value and value >= 0 and value < least then value = least end
    if value and value >= 0 and value < 137438953471 and value % 1 == 0 then
      last[r] = value + 1
      votes[i] = value + 1
    else
      votes[i], fault = 'e', '\nMUXLOCKREGISTER register ' .. r .. ' holds no token'
    end
  end
end
for r, value in pairs(last) do
  writes[#writes + 1] = r
  writes[#writes + 1] = value
end
if #writes > 0 then
  redis.call('HSET', KEYS[2], unpack(writes))
end
local i, a = 1, 2 + 3 * n
while i <= n do
  local ttl, to = ARGV[a], i + ARGV[a + 1] - 1
  for j = i, to do
    if votes[j] ~= '0' and votes[j] ~= 'e' then
      local reply = pcall('SET', KEYS[2 + j], ARGV[1 + j], 'NX', 'PX', ttl)
      if not reply then
        votes[j] = '0'
      elseif reply.err then
        votes[j], fault = 'e', '\n' .. reply.err
      end
    end
  end
  i, a = to + 1, a + 2
end
return table.concat(votes, ' ') .. fault
