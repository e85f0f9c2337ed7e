-- Batch: many extends, releases and sets in one call, in order.
-- KEYS[i]      lock name of entry i, of n
-- ARGV[i]      its token
-- ARGV[n+1..]  runs of entries that are alike, as pairs: what to do, how many of them
--              'ms' extend to that lease | '-' release | '&ms' a set: take all of them for that lease, or none;
--              '=ms' likewise, without MSETNX
--              '|ms' a choice: take the first of them that is free for that lease
--              's-' release readers (see shared) | '?' try MGET, for its error
-- Returns '' when every entry was extended, deleted or taken; else one character per entry:
--   '1' extended, deleted or taken
--   '0' another's, also of another type, or gone
--   'n' not tried: another name of its set is held, or an earlier one of its choice was taken or failed
--   'e' the command failed; of a set, for one of its names
-- and, if any entry failed, a line feed and the last error's text.
-- Every command goes through pcall: an error at one entry must not hide what the
-- entries before it have done. No functions: to make them anew in each call was a fifth of its cost.
local pcall = redis.pcall
local KEYS, ARGV, n = KEYS, ARGV, #KEYS
local votes = {} -- of the entries that are not '1': the character, or the error
local i, a = 1, n + 1
while i <= n do
  local what, last = ARGV[a], i + ARGV[a + 1] - 1
  local kind = what:sub(1, 1)
  if what == '-' or kind == 's' then -- release
    local values, ours = last > i and pcall('MGET', unpack(KEYS, i, last)) or {err = ''}, 0
    for j = i, last do
      if values[j - i + 1] == ARGV[j] then ours = ours + 1 end
    end
    local all, reply = ours > last - i, nil
    if all then
      reply = pcall('DEL', unpack(KEYS, i, last))
    elseif ours > 0 then
      local keys = {}
      for j = i, last do
        if values[j - i + 1] == ARGV[j] then keys[#keys + 1] = KEYS[j] end
      end
      reply = pcall('DEL', unpack(keys))
    end
    local alone = values.err or type(reply) == 'table' -- refused as a whole: one by one
    for j = i, (alone or not all) and last or 0 do
      if alone or values[j - i + 1] ~= ARGV[j] then
        reply = alone and pcall('GET', KEYS[j])
        if reply == ARGV[j] then
          reply = pcall('DEL', KEYS[j])
        elseif kind == 's' then
          reply = pcall('ZREM', KEYS[j], ARGV[j])
          local left = reply == 1 and pcall('ZRANGE', KEYS[j], -1, -1, 'WITHSCORES') or {}
          if left[2] then pcall('PEXPIREAT', KEYS[j], left[2]) end -- the key ends with its last reader
        end
        if reply ~= 1 then votes[j] = type(reply) == 'table' and reply or '0' end
      end
    end
  elseif kind == '&' or kind == '=' then -- a set
    local lease, locks, l = what:sub(2), {}, 0
    for j = i, last do
      locks[l + 1], locks[l + 2], l = KEYS[j], ARGV[j], l + 2
    end
    local taken = kind == '=' and {} or pcall('MSETNX', unpack(locks))
    for j = i, taken == 1 and last or 0 do
      local reply = pcall('PEXPIRE', KEYS[j], lease)
      if reply ~= 1 then -- no right to it: none may stay without an end
        for k = i, last do pcall('DEL', KEYS[k]) end
        taken = reply
        break
      end
    end
    for j = i, taken == 0 and last or 0 do -- which of them is held?
      votes[j] = pcall('GET', KEYS[j]) and '0' or 'n'
    end
    for j = i, type(taken) == 'table' and last or 0 do -- no right to MSETNX or PEXPIRE, or a failure
      local reply = pcall('SET', KEYS[j], ARGV[j], 'NX', 'PX', lease)
      if not reply or reply.err then
        for k = i, j - 1 do pcall('DEL', KEYS[k]) end
        for k = i, last do votes[k] = reply or k == j and '0' or 'n' end
        break
      end
    end
  elseif kind == '?' then
    local values = pcall('MGET', KEYS[i])
    votes[i] = values.err and values
  elseif kind == '|' then -- a choice
    local reply = false
    for j = i, last do
      if reply then
        votes[j] = 'n'
      else
        reply = pcall('SET', KEYS[j], ARGV[j], 'NX', 'PX', what:sub(2))
        if not reply then votes[j] = '0' elseif reply.err then votes[j] = reply end
      end
    end
  else -- extend
    for j = i, last do
      local reply = pcall('GET', KEYS[j])
      if reply == ARGV[j] then
        reply = pcall('PTTL', KEYS[j])
        if type(reply) == 'number' and tonumber(what) > reply then
          reply = pcall('PEXPIRE', KEYS[j], what)
        end
      end
      if type(reply) ~= 'number' then votes[j] = type(reply) == 'table' and reply or '0' end
    end
  end
  i, a = last + 1, a + 2
end
if not next(votes) then return '' end
local fault = ''
for j = 1, n do
  local vote = votes[j] or '1'
  if vote.err then
    local wrong = vote.err:find('WRONGTYPE')
    vote, fault = wrong and '0' or 'e', wrong and fault or '\n' .. vote.err
  end
  votes[j] = vote
end
return table.concat(votes) .. fault
