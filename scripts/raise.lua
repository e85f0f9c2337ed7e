-- Raise: make registers of a member at least as large as given.
-- KEYS[1]  the set's description
-- KEYS[2]  the registers, a hash
-- ARGV[1]  the description that the caller expects
-- ARGV[2..] pairs: a register, its least value
-- Registers that are missing or hold no number are left alone.
-- Returns  1 | 0 the description is another
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
for i = 2, #ARGV, 2 do
  local value = tonumber(redis.call('HGET', KEYS[2], ARGV[i]) or '')
  if value and value < tonumber(ARGV[i + 1]) then
    redis.call('HSET', KEYS[2], ARGV[i], ARGV[i + 1])
  end
end
return 1
