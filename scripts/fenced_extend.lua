-- Fenced extend: move the expiry of many locks out, never in, and raise their registers to
-- their tokens. Also what raises a token that too few masters store.
-- KEYS, ARGV[1] to ARGV[1+2n]  as of the fenced acquire
-- ARGV[1+2n+i]  fencing token of entry i; '0' of a lock whose token is not known
-- ARGV[2+3n..]  runs of entries that are alike, as pairs: ttl in milliseconds, how many
-- Returns the mark, a line feed, and one character per entry:
--   '1' ours, and lives for at least ttl
--   '0' another's, also of another type, or gone
--   'e' the command failed; the master is of another set or not admitted; the register is missing
--       or holds no number
-- and, if any entry failed, a line feed and the last error's text.
local pcall, tonumber = redis.pcall, tonumber
local n = #KEYS - 3
local mark = redis.call('GET', KEYS[2]) or ''
local same = mark ~= '' and redis.call('GET', KEYS[1]) == ARGV[1]
local votes, fault = {}, ''
local i, a = 1, 2 + 3 * n

local function extend(j, ttl)
  local key = KEYS[3 + j]
  local reply = pcall('GET', key)
  if type(reply) == 'table' and reply.err:find('WRONGTYPE') then return false end
  if reply ~= ARGV[1 + j] then return reply end
  if not same then
    return redis.error_reply('MUXLOCKSET the master is not, or not any more, an admitted member of the set that the caller expects')
  end
  local r, token = ARGV[1 + n + j], tonumber(ARGV[1 + 2 * n + j])
  if token > 0 then
    local value = pcall('HGET', KEYS[3], r)
    if type(value) == 'table' then return value end
    value = tonumber(value or '')
    if not value or value < 0 or value >= 137438953472 or value % 1 ~= 0 then
      return redis.error_reply('MUXLOCKREGISTER register ' .. r .. ' holds no token')
    end
    if value < token then
      reply = pcall('HSET', KEYS[3], r, token)
      if type(reply) == 'table' then return reply end
    end
  end
  reply = pcall('PTTL', key)
  if type(reply) == 'number' and tonumber(ttl) > reply then
    reply = pcall('PEXPIRE', key, ttl)
  end
  return reply
end

while i <= n do
  local ttl, to = ARGV[a], i + ARGV[a + 1] - 1
  for j = i, to do
    local reply = extend(j, ttl)
    if type(reply) == 'number' then
      votes[j] = '1'
    elseif type(reply) == 'table' then
      votes[j], fault = 'e', '\n' .. reply.err
    else
      votes[j] = '0'
    end
  end
  i, a = to + 1, a + 2
end
return mark .. '\n' .. table.concat(votes) .. fault
