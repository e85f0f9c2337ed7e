-- Registers: what an admitted member of a set has in its registers.
-- KEYS[1]  the set's description
-- KEYS[2]  the mark of the master's admission
-- KEYS[3]  the registers, a hash
-- ARGV[1]  the description that the caller expects; '' any, or none, for operators
-- ARGV[2]  the mark that the caller expects
-- Returns  field and value in turn, with blanks between; the error MUXLOCKSET if the master
--          is not admitted
if ARGV[1] ~= '' and (redis.call('GET', KEYS[1]) ~= ARGV[1] or redis.call('GET', KEYS[2]) ~= ARGV[2]) then
  return redis.error_reply('MUXLOCKSET the master is not admitted')
end
return table.concat(redis.call('HGETALL', KEYS[3]), ' ')
