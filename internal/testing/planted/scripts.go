package main

// lua are faults of the scripts. Only real servers see these faults: the in-process masters execute Go in place of Lua.
var lua = []fault{
	{
		what: "who is first in line counts as awake whenever it asked", file: "scripts/wait.lua",
		old: "return age and age >= 0 and age <= stale + 0 and (", new: "return age and (",
		tests: "scripts TestWhoHasNotAskedForLongIsPassedOverThoughItHears",
	},
	{
		what: "a release deletes another's lock", file: "scripts/release.lua",
		old: "if value == ARGV[1] then", new: "if value then",
		tests: "internal/redisfake TestFakeAnswersAsAServerDoes",
	},
	{
		what: "a reader is let in beside a writer", file: "scripts/shared.lua",
		old: "isReader(value) and pcall('PTTL', key) or 0", new: "pcall('PTTL', key)",
		tests: "internal/redisfake TestFakeAnswersAsAServerDoes",
	},
	{
		what: "an extend adds a reader", file: "scripts/shared.lua",
		old: "    if not ends or ends + 0 <= now then return 0 end\n", new: "    ends = ends or 0\n",
		tests: "scripts TestReaderThatRanOutIsNeitherExtendedNorInTheWay",
	},
	{
		what: "a name expires with the reader that came last", file: "scripts/shared.lua",
		old: "pcall('PEXPIREAT', key, last[2])", new: "pcall('PEXPIREAT', key, (select(select('#', ...) - 1, ...)))",
		tests: "internal/redisfake TestFakeAnswersAsAServerDoes",
	},
	{
		what: "a release leaves the end of the name", file: "scripts/batch.lua",
		old: "if left[2] then pcall('PEXPIREAT', KEYS[j], left[2]) end", new: "",
		tests: "internal/redisfake TestFakeAnswersAsAServerDoes",
	},
	{
		what: "a second reader ends the first", file: "scripts/shared.lua",
		old: "local ends = time() + left", new: "local ends = time()",
		tests: "internal/redisfake TestFakeAnswersAsAServerDoes",
	},
	{
		what: "a lone reader is lost where a second one may not be let in", file: "scripts/shared.lua",
		old: "      pcall('SET', key, value, 'PX', left)\n", new: "",
		tests: "scripts TestReaderThatIsRefusedHalfwayLeavesEverythingAsItWas",
	},
	{
		what: "a reader is let in although a writer waits", file: "scripts/shared.lua",
		old: "reply = type(reply) == 'table' and reply or 'n'", new: "reply = type(reply) == 'table' and reply or 1",
		tests: "scripts TestIntentOfAWriterKeepsReadersOutForItsTime",
	},
	{
		what: "a reader is let in by a master of another set", file: "scripts/shared.lua",
		old: "if redis.call('GET', KEYS[2 * n + 1]) ~= ARGV[1] or not mark then", new: "if not mark then",
		tests: "internal/redisfake TestFakeAnswersAsAServerDoes",
	},
	{
		what: "an extend sets a key that is gone", file: "scripts/extend.lua",
		old: "elseif value == false then\n", new: "elseif value == false then\n  redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])\n",
		tests: "internal/redisfake TestFakeAnswersAsAServerDoes",
	},
	{
		what: "an extend shortens a lease", file: "scripts/extend.lua",
		old: "if tonumber(ARGV[2]) > redis.call('PTTL', KEYS[1]) then", new: "if tonumber(ARGV[2]) > 0 then",
		tests: "internal/redisfake TestFakeAnswersAsAServerDoes",
	},
	{
		what: "an extend of a batch shortens a lease", file: "scripts/batch.lua",
		old: "tonumber(what) > reply then", new: "tonumber(what) > 0 then",
		tests: "internal/redisfake TestFakeAnswersAsAServerDoes",
	},
	{
		what: "a set of a batch takes what is another's", file: "scripts/batch.lua",
		old: "pcall('MSETNX', unpack(locks))\n", new: "pcall('MSETNX', unpack(locks)) and 1\n",
		tests: "internal/redisfake TestFakeAnswersAsAServerDoes",
	},
	{
		what: "a choice of a batch takes a second slot", file: "scripts/batch.lua",
		old: "      if reply then\n        votes[j] = 'n'\n      else\n", new: "      do\n",
		tests: "internal/redisfake TestFakeAnswersAsAServerDoes",
	},
	{
		what: "a fenced choice takes a second slot", file: "scripts/fenced_acquire.lua",
		old: "    if kind == '|' and not held[3 + j] then spared = 'n' end\n", new: "",
		tests: "internal/redisfake TestFakeAnswersAsAServerDoes",
	},
	{
		what: "a fenced set takes the names that are free", file: "scripts/fenced_acquire.lua",
		old: "if held[3 + j] then spared = 'n' elseif", new: "if",
		tests: "internal/redisfake TestFakeAnswersAsAServerDoes",
	},
	{
		what: "a release of a batch deletes another's lock", file: "scripts/batch.lua",
		old: "if values[j - i + 1] == ARGV[j] then keys", new: "if values[j - i + 1] then keys",
		tests: "internal/redisfake TestFakeAnswersAsAServerDoes",
	},
	{
		what: "a fenced acquire asks for no mark", file: "scripts/fenced_acquire.lua",
		old: "held[1] ~= ARGV[1] or not mark then", new: "held[1] ~= ARGV[1] then mark = mark or ''\nelseif not mark then",
		tests: "internal/testing/model TestMasterRuleAgreesWithTheScripts",
	},
	{
		what: "a fenced acquire gives the register as it is", file: "scripts/fenced_acquire.lua",
		old: "string.format('%d', value + 1)", new: "string.format('%d', value)",
		tests: "internal/testing/model TestMasterRuleAgreesWithTheScripts",
	},
	{
		what: "a fenced lock stays for ever if it cannot be given an end", file: "scripts/fenced_acquire.lua",
		old: "for l = 1, w, 2 do pcall('DEL', locks[l]) end", new: "",
		tests: "scripts TestLockWithoutAnEndIsNotLeft",
	},
	{
		what: "a fenced extend is confirmed by a master of another set", file: "scripts/fenced_extend.lua",
		old: "  if not same then\n", new: "  if not same and token then\n",
		tests: "internal/redisfake TestFakeAnswersAsAServerDoes",
	},
	{
		what: "a fenced extend lowers a register", file: "scripts/fenced_extend.lua",
		old: "if value < token then", new: "if value ~= token then",
		tests: "internal/redisfake TestFakeAnswersAsAServerDoes",
	},
	{
		what: "a raise lowers a register", file: "scripts/raise.lua",
		old: "if value and value < tonumber(ARGV[i + 1]) then", new: "if value then",
		tests: "internal/redisfake TestFakeAnswersAsAServerDoes",
	},
	{
		what: "a seed asks for no ticket", file: "scripts/seed.lua",
		old: "if redis.call('GET', KEYS[3]) ~= ARGV[2] then return 0 end", new: "",
		tests: "internal/testing/model TestMasterRuleAgreesWithTheScripts",
	},
	{
		what: "a seed lowers a register", file: "scripts/seed.lua",
		old: "value and value >= tonumber(ARGV[i]) and", new: "value and value == tonumber(ARGV[i]) and",
		tests: "internal/redisfake TestFakeAnswersAsAServerDoes",
	},
	{
		what: "a ticket of an earlier process is gone on with", file: "scripts/open.lua",
		old: "if not ticket or ticket:sub(25) ~= ARGV[3]:sub(25) then", new: "if not ticket then",
		tests: "internal/testing/model TestMasterRuleAgreesWithTheScripts",
	},
	{
		what: "a member that changed meanwhile is switched", file: "scripts/switch.lua",
		old: "if set == ARGV[1] and mark == ARGV[2] then", new: "if set == ARGV[1] then",
		tests: "internal/testing/model TestMasterRuleAgreesWithTheScripts",
	},
	{
		what: "registers are read of a master that is not admitted", file: "scripts/registers.lua",
		old: "redis.call('GET', KEYS[1]) ~= ARGV[1] or redis.call('GET', KEYS[2]) ~= ARGV[2]", new: "redis.call('GET', KEYS[1]) ~= ARGV[1]",
		tests: "internal/testing/model TestMasterRuleAgreesWithTheScripts",
	},
	{
		what: "a waiter is granted a lock of another", file: "scripts/wait.lua",
		old: "if free and (first == token or ARGV[8] == '1') then", new: "if (free and first == token) or ARGV[8] == '1' then",
		tests: "internal/redisfake TestFakeKeepsALineAsAServerDoes",
	},
	{
		what: "a token that waited and was granted stays in line", file: "scripts/wait.lua",
		old: "    remove(token)\n    local next", new: "    local next",
		tests: "internal/redisfake TestFakeKeepsALineAsAServerDoes",
	},
	{
		what: "a wait does not raise the register", file: "scripts/wait.lua",
		old: "      call('HSET', KEYS[6], ARGV[11], fence)\n", new: "",
		tests: "internal/redisfake TestFakeKeepsALineAsAServerDoes",
	},
	{
		what: "a pass deletes another's lock", file: "scripts/pass.lua",
		old: "if value and value ~= token then return 0 end", new: "",
		tests: "internal/redisfake TestFakeKeepsALineAsAServerDoes",
	},
	{
		what: "a pass tells a longer lease than the key has", file: "scripts/pass.lua",
		old: "{'g', c, version, lease, granted,", new: "{'g', c, version, string.format('%.0f', lease + age), granted,",
		tests: "internal/redisfake TestFakeKeepsALineAsAServerDoes",
	},
	{
		what: "a pass gives a lock to who asked too long ago", file: "scripts/pass.lua",
		old: "2 * age <= lease + 0 and tag", new: "tag",
		tests: "internal/redisfake TestFakeKeepsALineAsAServerDoes",
	},
	{
		what: "a pass gives the register as it is", file: "scripts/pass.lua",
		old: "math.max(register + 1, ARGV[9] + 0)", new: "math.max(register, ARGV[9] + 0)",
		tests: "internal/redisfake TestFakeKeepsALineAsAServerDoes",
	},
	{
		what: "a master that is not admitted passes a lock on", file: "scripts/pass.lua",
		old: "type(mark) ~= 'string' or ", new: "",
		tests: "internal/redisfake TestFakeKeepsALineAsAServerDoes",
	},
	{
		what: "who does not hear of a lost lock keeps its key", file: "scripts/pass.lua",
		old: "if not passed then pcall('DEL', name) end", new: "",
		tests: "internal/redisfake TestFakeKeepsALineAsAServerDoes",
	},
}
