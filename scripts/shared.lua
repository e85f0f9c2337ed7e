-- Shared: let readers in and extend them, and note writers that wait for readers; in order.
-- KEYS[i]     lock name of entry i, of n. A reader that comes first has a string, its token: ~, 24
--             characters, @ and more. Several have a sorted set: tokens by when they run out, in milliseconds of the
--             master's clock. The key expires with the last of them
-- KEYS[n+i]   the intent of its writers: while it is there, no reader is let in
-- KEYS[2n+1], KEYS[2n+2]  with fencing: the set's description, the mark
-- ARGV[1]     the description that the caller expects; '' without fencing
-- ARGV[1+i]   token of entry i
-- ARGV[2+n..] runs of entries that are alike, as pairs: what to do, how many of them
--             'ms' let in for that lease | '+ms' extend to that lease | '!ms' a writer waits, for so long; '!0' no more
--             '*ms' heal: let in whatever intents there are, or extend
-- Returns '' when every entry was let in, extended, or found readers; else one character per entry:
--   '1' let in or extended; a writer: readers have the name
--   '0' a writer has the name; an extend: the token is gone; a writer: no reader has the name
--   'n' not tried: a writer waits
--   'e' the command failed
-- and, if any entry failed, a line feed and the last error's text. With fencing the mark and a line
-- feed come first.
-- Returns the error MUXLOCKSET, and has done nothing, as the fenced acquire does.
local pcall = redis.pcall
local fenced = ARGV[1] ~= ''
local n, mark = #KEYS / 2 - (fenced and 1 or 0), ''
if fenced then
  mark = redis.call('GET', KEYS[2 * n + 2])
  if redis.call('GET', KEYS[2 * n + 1]) ~= ARGV[1] or not mark then
    return redis.error_reply('MUXLOCKSET the master is not, or not any more, an admitted member of the set that the caller expects')
  end
  mark = mark .. '\n'
end
local votes = {} -- of the entries that are not '1': the character, a number, or the error

-- verbs returns what is done with a name that somebody has, by kind. These functions are made when they are first
-- needed: to make them costs as much as to let in a reader who comes first.
local function verbs()
  local function time()
    local clock = redis.call('TIME')
    return clock[1] * 1000 + math.floor(clock[2] / 1000)
  end
  local now = time()

  local function isReader(value) return value:byte() == 126 and value:byte(26) == 64 end

  -- add adds tokens to a sorted set, or moves their ends. The key expires with the last one.
  local function add(key, ...)
    local reply = pcall('ZADD', key, ...)
    if type(reply) == 'table' then return reply end
    local last = pcall('ZRANGE', key, -1, -1, 'WITHSCORES')
    return last[2] and pcall('PEXPIREAT', key, last[2]) or last
  end

  local function letIn(key, token, lease)
    local value = pcall('GET', key)
    if type(value) ~= 'string' then
      local reply = pcall('ZREMRANGEBYSCORE', key, '-inf', now)
      if type(reply) == 'table' then return reply end
      reply = add(key, now + lease, token)
      if reply ~= 1 then pcall('ZREM', key, token) end -- none may stay without an end
      return reply
    end
    local left = isReader(value) and pcall('PTTL', key) or 0
    if type(left) == 'table' then return left end
    if left < 1 then return 0 end
    local ends = time() + left -- a moment later than the string's
    pcall('DEL', key)
    local reply = add(key, ends, value, now + lease, token)
    if reply ~= 1 then -- the lone reader keeps what it had
      pcall('DEL', key)
      pcall('SET', key, value, 'PX', left)
    end
    return reply
  end

  -- extend never adds a token: at a master that was restarted that would be a vote.
  local function extend(key, token, lease)
    local value = pcall('GET', key)
    if type(value) ~= 'table' then
      if value ~= token then return 0 end
      local left = pcall('PTTL', key)
      if type(left) == 'table' then return left end
      return tonumber(lease) <= left and 1 or pcall('PEXPIRE', key, lease)
    end
    local ends = pcall('ZSCORE', key, token)
    if type(ends) == 'table' then return ends end
    if not ends or ends + 0 <= now then return 0 end
    return add(key, math.max(ends, now + lease), token)
  end

  -- heal moves no end in.
  local function heal(key, token, lease)
    local reply = extend(key, token, lease)
    return reply == 0 and letIn(key, token, lease) or reply
  end

  -- intend leaves an intent to the writer that was the first to set it: no other one ends it.
  local function intend(key, token, lease, intent)
    if lease == '0' then return pcall('GET', intent) == token and pcall('DEL', intent) or 0 end
    local value = pcall('GET', key)
    if type(value) == 'table' then
      local readers = pcall('ZCARD', key)
      if type(readers) == 'table' then return readers end
    elseif not value or not isReader(value) then
      return 0
    end
    local reply = pcall('SET', intent, token, 'NX', 'PX', lease)
    if not reply then return pcall('PEXPIRE', intent, lease) end
    return reply.ok and 1 or reply
  end

  return {[''] = letIn, ['+'] = extend, ['*'] = heal, ['!'] = intend}
end

local i, a, verb = 1, 2 + n, nil
while i <= n do
  local what, to = ARGV[a], i + ARGV[a + 1] - 1
  local kind, lease = what:match('^(%D?)(%d+)$')
  local intents = kind ~= '' and {} or to > i and pcall('MGET', unpack(KEYS, n + i, n + to)) or {err = ''}
  for j = i, to do
    local reply = intents[j - i + 1]
    if intents.err then reply = pcall('GET', KEYS[n + j]) end -- one, or no right to MGET
    if reply then
      reply = type(reply) == 'table' and reply or 'n'
    else
      reply = (kind == '' or kind == '*') and pcall('SET', KEYS[j], ARGV[1 + j], 'NX', 'PX', lease)
      if reply then
        reply = reply.ok and 1 or reply
      else
        verb = verb or verbs()
        reply = verb[kind](KEYS[j], ARGV[1 + j], lease, KEYS[n + j])
      end
    end
    if reply ~= 1 then votes[j] = reply end
  end
  i, a = to + 1, a + 2
end
if not next(votes) then return mark end
local fault = ''
for j = 1, n do
  local vote = votes[j] or '1'
  if type(vote) == 'table' then
    local wrong = vote.err:find('WRONGTYPE')
    vote, fault = wrong and '0' or 'e', wrong and fault or '\n' .. vote.err
  end
  votes[j] = vote
end
return mark .. table.concat(votes) .. fault
