-- Fenced acquire: take many locks in one call, each with a fencing token that is larger than
-- its register.
-- KEYS[1]      the set's description
-- KEYS[2]      the mark of the master's admission
-- KEYS[3]      the registers, a hash
-- KEYS[3+i]    lock name of entry i, of n; none is there twice
-- ARGV[1]      the description that the caller expects
-- ARGV[1+i]    token value of entry i
-- ARGV[1+n+i]  its register
-- ARGV[1+2n+i] the fencing token that the caller proposes; it never gets less for a register
-- ARGV[2+3n..] runs of entries that are alike, as pairs: ttl in milliseconds, how many; then
--              'msetex' if the server has that command. A ttl behind '&' is that of a set: all of them or none;
--              one behind '|' that of a choice: the first of them that is free
-- Returns the mark, a line feed, and '' when every lock was granted with its proposal; else a word per entry:
--   '='       granted with the proposal
--   a number  granted with that token: the register was not below the proposal
--   '0'       held by another
--   'n'       not tried: another name of its set is held, or an earlier one of its choice is free
--   'e'       the command failed, or the register is missing or holds no number below 2^37-1
-- with blanks between and, if any entry failed, a line feed and the last error's text.
-- Returns the error MUXLOCKSET, and has done nothing, where the description is another or
-- there is no mark. The caller compares the mark: a copy of another master's data has that one's.
-- Everything is checked first; the registers are written before the locks. No functions: see batch.lua.
local pcall, tonumber = redis.pcall, tonumber
local KEYS, ARGV, n = KEYS, ARGV, #KEYS - 3
local held = redis.call('MGET', unpack(KEYS))
local mark = held[2]
if held[1] ~= ARGV[1] or not mark then
  return redis.error_reply('MUXLOCKSET the master is not, or not any more, an admitted member of the set that the caller expects')
end
local registers = redis.call('HMGET', KEYS[3], unpack(ARGV, n + 2, 2 * n + 1))

local values, register, fence = {}, 1 + n, 1 + 2 * n -- values of the registers that hold a token and have room for another
for i = 1, n do
  local value = tonumber(registers[i] or '')
  if value and value >= 0 and value < 137438953471 and value % 1 == 0 and ARGV[fence + i] + 0 <= 137438953471 then
    values[i] = value
  end
end

local votes, fault = {}, '' -- votes of the entries that are not '='
local writes, locks, w = {}, {}, 0 -- of what is taken: registers and their tokens, names and theirs
local lease -- the ttl of all runs, '' if they differ
local i, a = 1, 2 + 3 * n
while i <= n do
  local to, kind, ttl = i + ARGV[a + 1] - 1, ARGV[a]:match('^([&|]?)(.*)')
  lease = (not lease or lease == ttl) and ttl or ''
  local spared -- why what is free of a set or choice is not taken
  for j = i, kind == '&' and to or 0 do
    if held[3 + j] then spared = 'n' elseif not values[j] then spared = spared or 'e' end
  end
  for j = i, to do
    local value, token = values[j], ARGV[fence + j]
    if held[3 + j] then
      votes[j] = '0'
    elseif spared or not value then
      votes[j] = spared or 'e'
      if not value and votes[j] == 'e' then
        fault = '\nMUXLOCKREGISTER register ' .. ARGV[register + j] .. ' holds no token'
      end
    else
      if value >= token + 0 then
        token = string.format('%d', value + 1)
        votes[j] = token
      end
      writes[w + 1], writes[w + 2] = ARGV[register + j], token
      locks[w + 1], locks[w + 2] = KEYS[3 + j], ARGV[1 + j]
      w = w + 2
    end
    if kind == '|' and not held[3 + j] then spared = 'n' end
  end
  i, a = to + 1, a + 2
end
if w > 0 then
  redis.call('HSET', KEYS[3], unpack(writes))
end

local each = w > 0 -- name by name, where all at once is refused
if each and lease ~= '' then
  if ARGV[#ARGV] == 'msetex' then
    locks[w + 1], locks[w + 2], locks[w + 3] = 'NX', 'PX', lease
    each = pcall('MSETEX', w / 2, unpack(locks)) ~= 1
  else
    each = pcall('MSETNX', unpack(locks)) ~= 1
    for k = 1, each and 0 or w, 2 do
      if pcall('PEXPIRE', locks[k], lease) ~= 1 then -- no right to it, any more: none may stay without an end
        for l = 1, w, 2 do pcall('DEL', locks[l]) end
        each = true
        break
      end
    end
  end
end
i, a = 1, 2 + 3 * n
while each and i <= n do
  local to, kind, ttl = i + ARGV[a + 1] - 1, ARGV[a]:match('^([&|]?)(.*)')
  for j = i, to do
    local word = votes[j]
    if word ~= '0' and word ~= 'n' and word ~= 'e' then
      local reply = pcall('SET', KEYS[3 + j], ARGV[1 + j], 'NX', 'PX', ttl)
      if not reply or reply.err then
        if reply then fault = '\n' .. reply.err end
        votes[j] = reply and 'e' or '0'
        if kind == '&' then -- all or none
          for k = i, j - 1 do pcall('DEL', KEYS[3 + k]) end
          for k = i, to do votes[k] = reply and 'e' or k == j and '0' or 'n' end
          break
        end
      end
    end
  end
  i, a = to + 1, a + 2
end

if not next(votes) then return mark .. '\n' end
for j = 1, n do votes[j] = votes[j] or '=' end
return mark .. '\n' .. table.concat(votes, ' ') .. fault
