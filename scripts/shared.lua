-- Shared: let readers in and extend them, and note writers that wait for readers; in order.
-- KEYS[i]     lock name of entry i, of n. Readers have a sorted set: tokens by when they run out, in
--             milliseconds of the master's clock. The key expires with the last of them
-- KEYS[n+i]   the intent of its writers: while it is there, no reader is let in
-- KEYS[2n+1], KEYS[2n+2]  with fencing: the set's description, the mark
-- ARGV[1]     the description that the caller expects; '' without fencing
-- ARGV[1+i]   token of entry i
-- ARGV[2+n..] runs of entries that are alike, as pairs: what to do, how many of them
--             'ms' let in for that lease | '+ms' extend to that lease | '!ms' a writer waits, for so long; '!0' no more
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
local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
local votes, fault = {}, ''

-- add adds a token, or moves its end. The key expires with the last one.
local function add(key, token, ends)
  local reply = pcall('ZADD', key, ends, token)
  if type(reply) == 'table' then return reply end
  local last = pcall('ZRANGE', key, -1, -1, 'WITHSCORES')
  return last[2] and pcall('PEXPIREAT', key, last[2]) or last
end

local function letIn(key, intent, token, lease)
  local waits = pcall('GET', intent)
  if waits then return type(waits) == 'table' and waits or 'n' end
  local reply = pcall('ZREMRANGEBYSCORE', key, '-inf', now)
  if type(reply) == 'table' then return reply end
  reply = add(key, token, now + lease)
  if reply ~= 1 then pcall('ZREM', key, token) end -- none may stay without an end
  return reply
end

-- extend never adds a token: at a master that was restarted that would be a vote.
local function extend(key, token, lease)
  local ends = pcall('ZSCORE', key, token)
  if type(ends) == 'table' then return ends end
  if not ends or ends + 0 <= now then return 0 end
  return add(key, token, math.max(ends, now + lease))
end

local function intend(key, intent, lease)
  if lease == '0' then return pcall('DEL', intent) end
  local readers = pcall('ZCARD', key)
  if readers == 0 or type(readers) == 'table' then return readers end
  local reply = pcall('SET', intent, '1', 'PX', lease)
  return reply.ok and 1 or reply
end

local i, a = 1, 2 + n
while i <= n do
  local what, to = ARGV[a], i + ARGV[a + 1] - 1
  local kind, lease = what:match('^(%D?)(%d+)$')
  for j = i, to do
    local key, intent, token, reply = KEYS[j], KEYS[n + j], ARGV[1 + j], nil
    if kind == '!' then
      reply = intend(key, intent, lease)
    elseif kind == '+' then
      reply = extend(key, token, lease)
    else
      reply = letIn(key, intent, token, lease)
    end
    if type(reply) ~= 'table' then
      votes[j] = tostring(reply)
    elseif reply.err:find('WRONGTYPE') then
      votes[j] = '0'
    else
      votes[j], fault = 'e', '\n' .. reply.err
    end
  end
  i, a = to + 1, a + 2
end
votes = table.concat(votes)
return mark .. (votes:find('[^1]') and votes .. fault or '')
