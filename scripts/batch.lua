-- Batch: many extends, releases and sets in one call, in order.
-- KEYS[i]      lock name of entry i, of n
-- ARGV[i]      its token
-- ARGV[n+1..]  runs of entries that are alike, as pairs: what to do, how many of them
--              'ms' extend to that lease | '-' release | '&ms' a set: take all of them for that lease, or none
--              '|ms' a choice: take the first of them that is free for that lease
--              's-' release readers (see shared)
-- Returns '' when every entry was extended, deleted or taken; else one character per entry:
--   '1' extended, deleted or taken
--   '0' another's or gone
--   'n' not tried: another name of its set is held, or an earlier one of its choice was taken or failed
--   'e' the command failed; of a set, for one of its names
-- and, if any entry failed, a line feed and the last error's text.
-- Every command goes through pcall: an error at one entry must not hide what the
-- entries before it have done.
local pcall = redis.pcall
local KEYS, ARGV, n = KEYS, ARGV, #KEYS
local votes, fault = nil, '' -- votes is made at the first that is not '1'

local function vote(i, reply, word)
  if not votes then
    votes = {}
    for j = 1, n do votes[j] = '1' end
  end
  votes[i] = word or '0'
  if type(reply) == 'table' and reply.err then
    votes[i], fault = 'e', '\n' .. reply.err
  end
end

local function extend(from, to, lease)
  for i = from, to do
    local key = KEYS[i]
    local reply = pcall('GET', key)
    if reply == ARGV[i] then
      reply = pcall('PTTL', key)
      if type(reply) == 'number' and tonumber(lease) > reply then
        reply = pcall('PEXPIRE', key, lease)
      end
    end
    if type(reply) ~= 'number' then vote(i, reply) end
  end
end

-- leave takes a reader out of the sorted set. The key then expires with the last one that is left.
local function leave(key, token)
  local reply = pcall('ZREM', key, token)
  if reply == 1 then
    local last = pcall('ZRANGE', key, -1, -1, 'WITHSCORES')
    if last[2] then pcall('PEXPIREAT', key, last[2]) end
  end
  return (type(reply) ~= 'table' or not reply.err:find('WRONGTYPE')) and reply
end

local function release(from, to, readers)
  local values, ours = pcall('MGET', unpack(KEYS, from, to)), 0
  for i = from, to do
    if values[i - from + 1] == ARGV[i] then ours = ours + 1 end
  end
  local reply
  if ours == to - from + 1 then
    reply = pcall('DEL', unpack(KEYS, from, to))
  elseif ours > 0 then
    local keys = {}
    for i = from, to do
      if values[i - from + 1] == ARGV[i] then keys[#keys + 1] = KEYS[i] end
    end
    reply = pcall('DEL', unpack(keys))
  end
  local alone = values.err or type(reply) == 'table' -- refused as a whole: one by one
  for i = from, (alone or ours <= to - from) and to or 0 do
    if alone or values[i - from + 1] ~= ARGV[i] then
      reply = alone and pcall('GET', KEYS[i])
      if reply == ARGV[i] then
        reply = pcall('DEL', KEYS[i])
      elseif readers then
        reply = leave(KEYS[i], ARGV[i])
      end
      if reply ~= 1 then vote(i, reply) end
    end
  end
end

-- takeAll takes all of a set, or none: it returns 1, 0 or an error.
local function takeAll(from, to, lease)
  local locks = {}
  for i = from, to do
    locks[#locks + 1], locks[#locks + 2] = KEYS[i], ARGV[i]
  end
  local taken = pcall('MSETNX', unpack(locks))
  for i = from, taken == 1 and to or 0 do
    local reply = pcall('PEXPIRE', KEYS[i], lease)
    if reply ~= 1 then -- no right to it: none may stay without an end
      for j = from, to do pcall('DEL', KEYS[j]) end
      return reply
    end
  end
  return taken
end

-- take takes all of a set, or tells which name keeps it.
local function take(from, to, lease)
  local taken = takeAll(from, to, lease)
  for i = from, taken == 0 and to or 0 do
    vote(i, false, pcall('GET', KEYS[i]) and '0' or 'n')
  end
  for i = from, type(taken) == 'table' and to or 0 do -- no right to MSETNX or PEXPIRE, or a failure
    local reply = pcall('SET', KEYS[i], ARGV[i], 'NX', 'PX', lease)
    if not reply or reply.err then
      for j = from, i - 1 do pcall('DEL', KEYS[j]) end
      for j = from, to do vote(j, reply, j == i and '0' or 'n') end
      return
    end
  end
end

-- takeFirst takes the first of a choice that is free.
local function takeFirst(from, to, lease)
  for i = from, to do
    local reply = pcall('SET', KEYS[i], ARGV[i], 'NX', 'PX', lease)
    vote(i, reply, reply and '1' or '0')
    if reply then
      for j = i + 1, to do vote(j, nil, 'n') end
      return
    end
  end
end

local i, a = 1, n + 1
while i <= n do
  local what, last = ARGV[a], i + ARGV[a + 1] - 1
  if what == '-' then
    release(i, last)
  elseif what == 's-' then
    release(i, last, true)
  elseif what:byte() == 38 then -- '&'
    take(i, last, what:sub(2))
  elseif what:byte() == 124 then -- '|'
    takeFirst(i, last, what:sub(2))
  else
    extend(i, last, what)
  end
  i, a = last + 1, a + 2
end
return votes and table.concat(votes) .. fault or ''
