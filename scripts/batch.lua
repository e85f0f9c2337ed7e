-- Batch: many releases, acquires and extends in one call.
-- KEYS[i]      lock name of entry i, of n
-- ARGV[i]      its token
-- ARGV[n+1]    r: entries 1 to r are releases
-- ARGV[n+2]    one letter for each entry from r+1 on, in order of arrival:
--              'A'..'Z' acquire | 'a'..'z' extend, with the lease of that letter
-- ARGV[n+3..]  the leases of letters A, B, ... in milliseconds
-- Returns '' when every entry was granted, extended or deleted; else one character per entry:
--   '1' granted, extended or deleted
--   '0' held by another (acquire), another's or gone (extend, release)
--   'e' the command failed
-- and, if any entry failed, a line feed and the last error's text.
-- Every command goes through pcall: an error at one entry must not hide what the
-- entries before it have done.
local pcall, byte = redis.pcall, string.byte
local n, r = #KEYS, tonumber(ARGV[#KEYS + 1])
local votes, fault = nil, '' -- votes is made at the first that is not '1'

local function vote(i, reply)
  if not votes then
    votes = {}
    for j = 1, n do votes[j] = '1' end
  end
  votes[i] = '0'
  if type(reply) == 'table' and reply.err then
    votes[i], fault = 'e', '\n' .. reply.err
  end
end

if r > 0 then
  local values = pcall('MGET', unpack(KEYS, 1, r))
  local ours, count = {}, 0
  for i = 1, r do
    if values[i] == ARGV[i] then
      count = count + 1
      ours[count] = KEYS[i]
    end
  end
  local reply = count > 0 and pcall('DEL', unpack(ours))
  if values.err or type(reply) == 'table' then -- refused as a whole: one by one
    for i = 1, r do
      reply = pcall('GET', KEYS[i])
      if reply == ARGV[i] then reply = pcall('DEL', KEYS[i]) end
      if reply ~= 1 then vote(i, reply) end
    end
  elseif count < r then
    for i = 1, r do
      if values[i] ~= ARGV[i] then vote(i, false) end
    end
  end
end

local todo = ARGV[n + 2]
for i = r + 1, n do
  local key, token, what = KEYS[i], ARGV[i], byte(todo, i - r)
  if what < 97 then -- 'A'..'Z'
    local reply = pcall('SET', key, token, 'NX', 'PX', ARGV[n + what - 62])
    if not (reply and reply.ok) then vote(i, reply) end
  else
    local lease, reply = ARGV[n + what - 94], pcall('GET', key)
    if reply == token then
      reply = pcall('PTTL', key)
      if type(reply) == 'number' and tonumber(lease) > reply then
        reply = pcall('PEXPIRE', key, lease)
      end
    end
    if type(reply) ~= 'number' then vote(i, reply) end
  end
end
return votes and table.concat(votes) .. fault or ''
