-- Release: delete the lock if it is still ours.
-- KEYS[1]  lock name
-- ARGV[1]  token
-- Returns  1 deleted | 0 another's | -1 gone
local value = redis.call('GET', KEYS[1])
if value == ARGV[1] then
  return redis.call('DEL', KEYS[1])
elseif value == false then
  return -1
end
return 0
