-- Trial: call what the scripts of fencing do, so that none fails in the middle for lack of a
-- right.
-- KEYS[1]  a key that nobody uses
-- Returns  1
redis.call('MGET', KEYS[1])
redis.call('HSET', KEYS[1], '0', '1')
redis.call('HGET', KEYS[1], '0')
redis.call('HMGET', KEYS[1], '0')
redis.call('HGETALL', KEYS[1])
redis.call('DEL', KEYS[1])
redis.call('MSETNX', KEYS[1], '1')
return redis.call('DEL', KEYS[1])
