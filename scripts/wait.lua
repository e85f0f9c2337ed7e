-- Wait: stand in line for a lock, or stay there; take it where it is free and our turn.
-- KEYS[1]  lock name
-- KEYS[2]  the line: a sorted set, tokens by when their wait began
-- KEYS[3]  a hash, token -> 'version stamp stale lease channel tag', padded
-- KEYS[4], KEYS[5], KEYS[6]  with fencing: the set's description, the mark, the registers
-- ARGV[1]  token
-- ARGV[2]  version of this request
-- ARGV[3]  lease that may be passed to the token, up to half as long after this request
-- ARGV[4]  how long after this request its owner is there to take a free name
-- ARGV[5]  channel that its owner hears
-- ARGV[6]  tag of the description that its owner expects; '-' without fencing
-- ARGV[7]  how long its owner has waited, to join; '' to stay
-- ARGV[8]  '1' the owner was told to ask: a free name is taken out of turn | '-' it is not granted
--          a free name, nor is anybody notified of it
-- ARGV[9]  lease of a lock that is granted now. All times are in milliseconds
-- ARGV[10], ARGV[11], ARGV[12]  with fencing: the description that the caller expects, the
--          register, the fencing token that the caller proposes
-- Returns words, with line feeds between; with fencing the mark comes first:
--   'g' fence first second  granted; fence is '0' without fencing, first and second are the
--                           tokens that wait now, '-' none
--   'm' lease               the token has the lock already, for so long
--   'q' rank value          in line, from 0; who has the lock: as much as shows that it is no lock;
--                           'readers' for them, and for what is no string
--   'x'                     not in line
-- Returns the error MUXLOCKSET, and has done nothing, as the fenced acquire does.
local call = redis.call
local name, line, entries, token = KEYS[1], KEYS[2], KEYS[3], ARGV[1]
local fenced, mark = KEYS[4], ''
if fenced then
  mark = call('GET', KEYS[5])
  if call('GET', KEYS[4]) ~= ARGV[10] or not mark then
    return redis.error_reply('MUXLOCKSET the master is not, or not any more, an admitted member of the set that the caller expects')
  end
  mark = mark .. '\n'
end
local value = redis.pcall('GET', name)
if type(value) == 'table' then
  if not value.err:find('WRONGTYPE') then return value end
  value = 'readers'
elseif value and value:byte() == 126 and value:byte(26) == 64 then -- a lone reader, see shared
  value = 'readers'
end
if value == token then return mark .. 'm\n' .. call('PTTL', name) end
local clock = call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
if not call('ZRANK', line, token) then
  if ARGV[7] == '' then return mark .. 'x' end
  call('ZADD', line, now - ARGV[7], token)
end
-- A hash of values below 65 bytes is a list for its server, and searched.
local entry = string.format('%s %.0f %s %s %s %s', ARGV[2], now, ARGV[4], ARGV[3], ARGV[5], ARGV[6])
call('HSET', entries, token, entry .. string.rep(' ', 65 - #entry))
call('PEXPIRE', line, 30000)
call('PEXPIRE', entries, 30000)
local free = not value and ARGV[8] ~= '-'

local function remove(c)
  call('ZREM', line, c)
  call('HDEL', entries, c)
end

-- awake reports whether the owner of a token will ask for a free name soon.
local function awake(c)
  local stamp, stale, channel = (call('HGET', entries, c) or ''):match('^%d+ (%d+) (%d+) %d+ (%S+) ')
  local age = stamp and now - stamp
  return age and age >= 0 and age <= stale + 0 and (not free or call('PUBLISH', channel, 'f\n' .. c) > 0)
end

for _ = 1, 8 do
  local first = call('ZRANGE', line, 0, 0)[1]
  if free and (first == token or ARGV[8] == '1') then
    local fence = '0'
    if fenced then
      local register = tonumber(call('HGET', KEYS[6], ARGV[11]) or '')
      if not register or register < 0 or register >= 137438953471 or register % 1 ~= 0 or ARGV[12] + 0 > 137438953471 then
        remove(token)
        return redis.error_reply('MUXLOCKREGISTER register ' .. ARGV[11] .. ' holds no token')
      end
      fence = string.format('%.0f', math.max(register + 1, ARGV[12] + 0))
      call('HSET', KEYS[6], ARGV[11], fence)
    end
    call('SET', name, token, 'PX', ARGV[9])
    remove(token)
    local next = call('ZRANGE', line, 0, 1)
    return mark .. table.concat({'g', fence, next[1] or '-', next[2] or '-'}, '\n')
  end
  if not first or first == token or awake(first) then break end
  remove(first)
end
return mark .. table.concat({'q', call('ZRANK', line, token), (value or ''):sub(1, 513)}, '\n')
