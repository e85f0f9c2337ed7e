-- Batch: many acquires, extends and releases in one call, in order of arrival.
-- KEYS[i]      lock name of entry i, of n
-- ARGV[i]      its token
-- ARGV[n+1]    what to do, one character per entry:
--              '-' release | 'A'..'Z' acquire | 'a'..'z' extend, with the lease of that letter
-- ARGV[n+2..]  the leases of letters A, B, ... in milliseconds
-- Returns '' when every entry was granted, extended or deleted; else one character per entry:
--   '1' granted, extended or deleted
--   '0' held by another (acquire), another's or gone (extend, release)
--   'e' the command failed
-- and, if any entry failed, a line feed and the last error's text.
-- Every command goes through pcall: an error at one entry must not hide what the
-- entries before it have done.
local pcall, byte = redis.pcall, string.byte
local n = #KEYS
local todo = ARGV[n + 1]
local votes, fault = nil, '' -- votes is made at the first that is not '1'
for i = 1, n do
  local key, token, what = KEYS[i], ARGV[i], byte(todo, i)
  local vote, reply = '0', nil
  if what == 45 then -- '-'
    reply = pcall('GET', key)
    if reply == token then
      reply = pcall('DEL', key)
      if reply == 1 then vote = '1' end
    end
  elseif what < 97 then -- 'A'..'Z'
    reply = pcall('SET', key, token, 'NX', 'PX', ARGV[n + what - 63])
    if reply and reply.ok then vote = '1' end
  else
    reply = pcall('GET', key)
    if reply == token then
      local lease = ARGV[n + what - 95]
      reply = pcall('PTTL', key)
      if type(reply) == 'number' and tonumber(lease) > reply then
        reply = pcall('PEXPIRE', key, lease)
      end
      if type(reply) == 'number' then vote = '1' end
    end
  end
  if vote == '0' and type(reply) == 'table' then
    vote, fault = 'e', '\n' .. reply.err
  end
  if votes then
    votes[i] = vote
  elseif vote ~= '1' then
    votes = {}
    for j = 1, i - 1 do votes[j] = '1' end
    votes[i] = vote
  end
end
return votes and table.concat(votes) .. fault or ''
