-- Pass: release a lock, undo an attempt and leave the line, in one; a lock that is passed on
-- goes to the first candidate whose owner is there to hear of it.
-- KEYS     as of wait
-- ARGV[1]  token
-- ARGV[2]  'p' pass the lock on | 'o' leave it open, and wake the first two of the line | 'n' offer
--          it to nobody
-- ARGV[3]  word that travels with the lock
-- ARGV[4]  tag of the description that the caller expects; '-' without fencing
-- ARGV[5], ARGV[6]  tokens to pass it to rather than to the first of the line; '-' none, as
--          for 'o'
-- ARGV[7], ARGV[8], ARGV[9]  with fencing: the description that the caller expects, the
--          register, the fencing token that the caller proposes
-- Returns  2 passed on, or left open to somebody | 1 deleted | 0 another's | -1 gone, whether
--          passed on or not
-- The new owner hears, with line feeds between:
--   'g' token version lease fence word first second [mark]
--          the lock is granted in answer to the request of that version
--   'o' token  the name is left open; in wait, 'f' token: it is free
-- The key is set before that is published: what somebody may hear must be so. Nothing that
-- fails keeps the key.
local pcall = redis.pcall
local name, line, entries, token = KEYS[1], KEYS[2], KEYS[3], ARGV[1]
pcall('ZREM', line, token)
pcall('HDEL', entries, token)
local value = pcall('GET', name)
if type(value) == 'table' then return value end
if value and value ~= token then return 0 end
local clock = pcall('TIME')
local now = ARGV[2] ~= 'n' and clock[1] and clock[1] * 1000 + math.floor(clock[2] / 1000)
local fenced, mark = KEYS[4], ''
if fenced then
  mark = pcall('GET', KEYS[5])
  if type(mark) ~= 'string' or pcall('GET', KEYS[4]) ~= ARGV[7] then now = nil end
end

-- range returns tokens of the line, none where that fails.
local function range(from, to)
  local tokens = pcall('ZRANGE', line, from, to)
  return tokens.err and {} or tokens
end

local function hears(channel, message)
  local reply = pcall('PUBLISH', channel, message)
  return type(reply) == 'number' and reply > 0
end

-- grant raises the register and returns the fencing token; nil: the register holds none.
local function grant()
  if not fenced then return '0' end
  local register = pcall('HGET', KEYS[6], ARGV[8])
  register = type(register) == 'string' and tonumber(register)
  if not register or register < 0 or register >= 137438953471 or register % 1 ~= 0 or ARGV[9] + 0 > 137438953471 then return nil end
  local next = string.format('%.0f', math.max(register + 1, ARGV[9] + 0))
  return type(pcall('HSET', KEYS[6], ARGV[8], next)) == 'number' and next
end

local passed = false
local opened = 0

-- offer gives the lock to a token, or tells its owner that it is open. It reports whether that
-- is all.
local function offer(c)
  local entry = pcall('HGET', entries, c)
  local version, stamp, lease, channel, tag = (type(entry) == 'string' and entry or ''):match('^(%d+) (%d+) %d+ (%d+) (%S+) (%S+)')
  local age = stamp and now - stamp
  local there, open = age and age >= 0 and 2 * age <= lease + 0 and tag == ARGV[4], ARGV[2] == 'o'
  if there and open and hears(channel, 'o\n' .. c) then
    opened = opened + 1
    return opened == 2
  end
  pcall('ZREM', line, c)
  pcall('HDEL', entries, c)
  local granted = there and not open and grant()
  local reply = granted and pcall('SET', name, c, 'PX', lease)
  if reply and not reply.err then
    local next = range(0, 1)
    local message = table.concat({'g', c, version, lease, granted, ARGV[3], next[1] or '-', next[2] or '-'}, '\n')
    passed = hears(channel, fenced and message .. '\n' .. mark or message)
    if not passed then pcall('DEL', name) end
  end
  return passed
end

if now then
  local done = ARGV[5] ~= '-' and offer(ARGV[5]) or ARGV[6] ~= '-' and offer(ARGV[6])
  for _ = 1, 8 do
    local first = not done and range(opened, opened)[1]
    if not first then break end
    done = offer(first)
  end
end
if passed then return value and 2 or -1 end
if not value then return -1 end
local reply = pcall('DEL', name)
return type(reply) == 'table' and reply or opened > 0 and 2 or 1
