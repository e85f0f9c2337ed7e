-- Open: begin the admission of a master to a set, unless it is admitted.
-- KEYS[1]  the set's description
-- KEYS[2]  the run_id under which the master was admitted
-- KEYS[3]  the ticket
-- ARGV[1]  the description that the caller found there; '' none
-- ARGV[2]  the run_id of this server
-- ARGV[3]  a ticket, kept if there is none
-- ARGV[4]  '1': what is there admits nobody: it may be another's data, or is of an older set
-- Returns  '' admitted, or the description is another by now | the ticket
if (redis.call('GET', KEYS[1]) or '') ~= ARGV[1] then return '' end
if ARGV[1] ~= '' and redis.call('GET', KEYS[2]) == ARGV[2] and ARGV[4] ~= '1' then
  return ''
end
redis.call('DEL', KEYS[2])
redis.call('SET', KEYS[3], ARGV[3], 'NX')
return redis.call('GET', KEYS[3])
