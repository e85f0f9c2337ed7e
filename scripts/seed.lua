-- Seed: admit a master that has been opened, with registers that are large enough.
-- KEYS[1]  the set's description
-- KEYS[2]  the mark of the master's admission
-- KEYS[3]  the ticket
-- KEYS[4]  since when the master waits, a hash
-- KEYS[5]  the registers, a hash
-- ARGV[1]  the description from now on
-- ARGV[2]  the ticket that the caller remembers, which is the mark from now on
-- ARGV[3]  the description that the caller found there; '' none
-- ARGV[4..] the least value of register 0, 1, ...
-- All registers are written, so that one that is missing later was lost.
-- Returns  1 admitted | 0 the ticket or the description is another
if redis.call('GET', KEYS[3]) ~= ARGV[2] then return 0 end
if (redis.call('GET', KEYS[1]) or '') ~= ARGV[3] then return 0 end
for i = 4, #ARGV do
  local register = i - 4
  local value = tonumber(redis.call('HGET', KEYS[5], register) or '')
  if not (value and value >= tonumber(ARGV[i]) and value < 137438953472 and value % 1 == 0) then
    redis.call('HSET', KEYS[5], register, ARGV[i])
  end
end
redis.call('SET', KEYS[1], ARGV[1])
redis.call('SET', KEYS[2], ARGV[2])
redis.call('DEL', KEYS[3], KEYS[4])
return 1
