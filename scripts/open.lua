-- Open: begin the admission of a master to a set, and go on with one that was begun.
-- KEYS[1]  the set's description
-- KEYS[2]  the mark of the master's admission
-- KEYS[3]  the ticket: the mark that it will have
-- KEYS[4]  since when it waits, a hash
-- ARGV[1]  the description that the caller found there; '' none
-- ARGV[2]  the mark that the caller found there; '' none
-- ARGV[3]  a ticket, kept if there is none of the same member and process
-- ARGV[4]  the clock by which the caller counts
-- Returns  '' the description or the mark is another by now | the ticket, a line feed, and since
--          when the master is known to have that by this clock; '' not known
if (redis.call('GET', KEYS[1]) or '') ~= ARGV[1] or (redis.call('GET', KEYS[2]) or '') ~= ARGV[2] then
  return ''
end
redis.call('DEL', KEYS[2])
local ticket = redis.call('GET', KEYS[3])
if not ticket or ticket:sub(25) ~= ARGV[3]:sub(25) then -- what follows the nonce
  ticket = ARGV[3]
  redis.call('SET', KEYS[3], ticket)
  redis.call('DEL', KEYS[4])
end
return ticket .. '\n' .. (redis.call('HGET', KEYS[4], ticket .. ' ' .. ARGV[4]) or '')
