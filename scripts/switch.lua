-- Switch: give a member the next description of its set.
-- KEYS[1]  the set's description
-- ARGV[1]  the description that must be there
-- ARGV[2]  the next one
-- Returns  1 it is there now, or was already | 0 another is
local now = redis.call('GET', KEYS[1])
if now == ARGV[1] then
  redis.call('SET', KEYS[1], ARGV[2])
  return 1
end
return now == ARGV[2] and 1 or 0
