-- Switch: give an admitted member the next description of its set, or another mark.
-- KEYS[1]  the set's description
-- KEYS[2]  the mark of the master's admission
-- ARGV[1], ARGV[2]  the description and the mark that must be there
-- ARGV[3], ARGV[4]  the next ones
-- Returns  1 they are there now, or were already | 0 others are
local set, mark = redis.call('GET', KEYS[1]), redis.call('GET', KEYS[2])
if set == ARGV[1] and mark == ARGV[2] then
  redis.call('SET', KEYS[1], ARGV[3])
  redis.call('SET', KEYS[2], ARGV[4])
  return 1
end
return set == ARGV[3] and mark == ARGV[4] and 1 or 0
