-- Seed: admit a master that has been opened, with registers that are large enough.
-- KEYS[1]  the set's description
-- KEYS[2]  the run_id under which the master was admitted
-- KEYS[3]  the ticket
-- KEYS[4]  the registers, a hash
-- ARGV[1]  the description from now on
-- ARGV[2]  the run_id of this server
-- ARGV[3]  the ticket that the caller remembers
-- ARGV[4]  the description that the caller found there; '' none
-- ARGV[5..] the least value of register 0, 1, ...
-- All registers are written, so that the hash is one for many fields from the beginning.
-- Returns  1 admitted | 0 the ticket or the description is another
if redis.call('GET', KEYS[3]) ~= ARGV[3] then return 0 end
if (redis.call('GET', KEYS[1]) or '') ~= ARGV[4] then return 0 end
for i = 5, #ARGV do
  local register = i - 5
  local value = tonumber(redis.call('HGET', KEYS[4], register) or -1)
  if not (value and value >= tonumber(ARGV[i]) and value < 137438953472 and value % 1 == 0) then
    redis.call('HSET', KEYS[4], register, ARGV[i])
  end
end
redis.call('SET', KEYS[1], ARGV[1])
redis.call('SET', KEYS[2], ARGV[2])
redis.call('DEL', KEYS[3])
return 1
