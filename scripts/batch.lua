-- Batch: many acquires, extends and releases in one call, in order of arrival.
-- KEYS[i]      lock name of entry i
-- ARGV[2i-1]   its token
-- ARGV[2i]     what to do: 'ms' acquire with that ttl | '+ms' extend | '-' release
-- Returns one character per entry:
--   '1' granted, extended or deleted
--   '0' held by another (acquire), another's or gone (extend, release)
--   'e' the command failed
-- and, if any entry failed, a line feed and the last error's text.
-- Every command goes through pcall: an error at one entry must not hide what the
-- entries before it have done.
local pcall, byte, sub = redis.pcall, string.byte, string.sub
local votes, fault = {}, ''
for i = 1, #KEYS do
  local key, token, how = KEYS[i], ARGV[2 * i - 1], ARGV[2 * i]
  local first = byte(how)
  local vote, reply = '0', nil
  if first == 45 then -- '-'
    reply = pcall('GET', key)
    if reply == token then
      reply = pcall('DEL', key)
      if reply == 1 then vote = '1' end
    end
  elseif first == 43 then -- '+'
    reply = pcall('GET', key)
    if reply == token then
      local ms = sub(how, 2)
      reply = pcall('PTTL', key)
      if type(reply) == 'number' and tonumber(ms) > reply then
        reply = pcall('PEXPIRE', key, ms)
      end
      if type(reply) == 'number' then vote = '1' end
    end
  else
    reply = pcall('SET', key, token, 'NX', 'PX', how)
    if reply and reply.ok then vote = '1' end
  end
  if vote == '0' and type(reply) == 'table' then
    vote, fault = 'e', '\n' .. reply.err
  end
  votes[i] = vote
end
return table.concat(votes) .. fault
