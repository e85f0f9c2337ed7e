-- Extend: move the expiry out, never in, and never create the key.
-- KEYS[1]  lock name
-- ARGV[1]  token
-- ARGV[2]  ttl in milliseconds
-- Returns  1 ours, and lives for at least ttl | 0 another's | -1 gone
local value = redis.call('GET', KEYS[1])
if value == ARGV[1] then
  if tonumber(ARGV[2]) > redis.call('PTTL', KEYS[1]) then
    redis.call('PEXPIRE', KEYS[1], ARGV[2])
  end
  return 1
elseif value == false then
  return -1
end
return 0
