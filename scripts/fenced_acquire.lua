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
-- Everything is checked first; the registers are written before the locks.
local KEYS, ARGV, n = KEYS, ARGV, #KEYS - 3
local held = redis.call('MGET', unpack(KEYS))
local mark = held[2]
if held[1] ~= ARGV[1] or not mark then
  return redis.error_reply('MUXLOCKSET the master is not, or not any more, an admitted member of the set that the caller expects')
end
local registers = redis.call('HMGET', KEYS[3], unpack(ARGV, n + 2, 2 * n + 1))

local votes, fault = nil, '' -- votes is made at the first that is not '='
local function vote(i, word)
  if not votes then
    votes = {}
    for j = 1, n do votes[j] = '=' end
  end
  votes[i] = word
end

local tonumber, register, fence = tonumber, 1 + n, 1 + 2 * n

-- valueOf returns what the register of an entry holds; nil: no token, or no room for another.
local function valueOf(i)
  local value = tonumber(registers[i] or '')
  if value and value >= 0 and value < 137438953471 and value % 1 == 0 and ARGV[fence + i] + 0 <= 137438953471 then
    return value
  end
  fault = '\nMUXLOCKREGISTER register ' .. ARGV[register + i] .. ' holds no token'
end

local runs = {} -- from, to, ttl, whether it is a set
local lease, spared = nil, {} -- the ttl of all runs, '' if they differ; entry of a set or choice -> why it is not granted
do
  local i, a = 1, 2 + 3 * n
  while i <= n do
    local to, kind, ttl = i + ARGV[a + 1] - 1, ARGV[a]:match('^([&|]?)(.*)')
    runs[#runs + 1] = {i, to, ttl, kind == '&'}
    lease = (not lease or lease == ttl) and ttl or ''
    if kind == '|' then
      local found = false
      for j = i, to do
        spared[j] = held[3 + j] and '0' or found and 'n'
        found = found or not held[3 + j]
      end
    elseif kind == '&' then
      local free, sound = true, true
      for j = i, to do free = free and not held[3 + j] end
      for j = i, free and to or 0 do sound = sound and valueOf(j) end
      for j = i, free and sound and 0 or to do
        spared[j] = free and 'e' or held[3 + j] and '0' or 'n'
      end
    end
    i, a = to + 1, a + 2
  end
end

local writes, locks, w = {}, {}, 0 -- of what is free: registers and their tokens, names and theirs
for i = 1, n do
  if spared[i] or held[3 + i] then
    vote(i, spared[i] or '0')
  else
    local value, token = valueOf(i), ARGV[fence + i]
    if not value then
      vote(i, 'e')
    else
      if value >= token + 0 then
        token = string.format('%d', value + 1)
        vote(i, token)
      end
      writes[w + 1], writes[w + 2] = ARGV[register + i], token
      locks[w + 1], locks[w + 2] = KEYS[3 + i], ARGV[1 + i]
      w = w + 2
    end
  end
end
if w > 0 then
  redis.call('HSET', KEYS[3], unpack(writes))
end
local pcall = redis.pcall

-- setAll takes all that is free, or nothing.
local function setAll(ttl)
  if ARGV[#ARGV] == 'msetex' then
    locks[w + 1], locks[w + 2], locks[w + 3] = 'NX', 'PX', ttl
    return pcall('MSETEX', w / 2, unpack(locks)) == 1
  end
  if pcall('MSETNX', unpack(locks)) ~= 1 then return false end
  for k = 1, w, 2 do
    if pcall('PEXPIRE', locks[k], ttl) ~= 1 then -- no right to it, any more: none may stay without an end
      for j = 1, w, 2 do pcall('DEL', locks[j]) end
      return false
    end
  end
  return true
end

-- setEach takes what is free of a run; of a set, all or nothing.
local function setEach(from, to, ttl, set)
  for j = from, to do
    local word = votes and votes[j]
    if word ~= '0' and word ~= 'n' and word ~= 'e' then
      local reply = pcall('SET', KEYS[3 + j], ARGV[1 + j], 'NX', 'PX', ttl)
      if not reply or reply.err then
        if reply then fault = '\n' .. reply.err end
        vote(j, reply and 'e' or '0')
        if set then
          for k = from, j - 1 do pcall('DEL', KEYS[3 + k]) end
          for k = from, to do if k ~= j then vote(k, reply and 'e' or 'n') end end
          return
        end
      end
    end
  end
end

if w > 0 and not (lease ~= '' and setAll(lease)) then
  for _, run in ipairs(runs) do setEach(unpack(run)) end
end
return mark .. '\n' .. (votes and table.concat(votes, ' ') .. fault or '')
