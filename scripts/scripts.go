// Package scripts holds the Lua that runs inside the masters. The header of each file says what the
// script takes, and what each result means.
package scripts

import _ "embed"

// Script is one Lua file with its SHA-1, the name by which EVALSHA calls it. The SHA-1 is a
// constant: nothing is computed at start, or by an algorithm that a FIPS build refuses. A test
// holds it against SCRIPT LOAD.
type Script struct {
	Name, Source, SHA1 string
}

var (
	//go:embed release.lua
	releaseSource string
	//go:embed extend.lua
	extendSource string
	//go:embed batch.lua
	batchSource string
	//go:embed shared.lua
	sharedSource string
	//go:embed fenced_acquire.lua
	fencedAcquireSource string
	//go:embed fenced_extend.lua
	fencedExtendSource string
	//go:embed raise.lua
	raiseSource string
	//go:embed open.lua
	openSource string
	//go:embed seed.lua
	seedSource string
	//go:embed registers.lua
	registersSource string
	//go:embed trial.lua
	trialSource string
	//go:embed switch.lua
	switchSource string
	//go:embed wait.lua
	waitSource string
	//go:embed pass.lua
	passSource string
	//go:embed inspect.lua
	inspectSource string
)

// The scripts that every master has loaded.
var (
	Release = Script{"release", releaseSource, "bc93df30305ce07c1de064d00a15782220731b6f"}
	Extend  = Script{"extend", extendSource, "5fe382a1443c33329e31925149304af749357bea"}
	Batch   = Script{"batch", batchSource, "b3e2e71334953b8bb8adf702199a1f156bc3f3fc"}
	Shared  = Script{"shared", sharedSource, "141ef61744e9017c3fcbaa4eb036ef77bede4b7e"}
)

// The scripts of fencing. The first three are sent with rounds; the others set masters up and admit
// them.
var (
	FencedAcquire = Script{"fenced_acquire", fencedAcquireSource, "ebf3862a5ba36b302e24b1164b2a13d22e52c320"}
	FencedExtend  = Script{"fenced_extend", fencedExtendSource, "df0418a381b61743749cc74dfe02bcbe977aa560"}
	Raise         = Script{"raise", raiseSource, "522ac642db7aa35acf63ffe6df5544677b2637b8"}
	Open          = Script{"open", openSource, "0d3fdd30cb12533c5bd8c7bb35b574777f5fee1d"}
	Seed          = Script{"seed", seedSource, "5179661dbc129a6d058695df053f6a3a66381bd3"}
	ReadRegisters = Script{"registers", registersSource, "687724dcbd16613760dc6e54eca13afb1867b96d"}
	Switch        = Script{"switch", switchSource, "8803c424f490e9191957b10bda39a7fdf43df8b5"}
	Trial         = Script{"trial", trialSource, "72d52ea95cb8591316e4011517612127b4c61012"}
)

// The scripts of a line, with fencing or without. A master loads them when somebody first asks for a line.
var (
	Wait = Script{"wait", waitSource, "c62c3d7a903257625c7272f9091b166bc75f90cd"}
	Pass = Script{"pass", passSource, "1e2eae456d92025cd5cb66a9224180f06b15734d"}
)

// Inspect is for people, and rare: each call loads it.
var Inspect = Script{"inspect", inspectSource, "6c60231142d6b90e9e160a2f32ad0dabbda4fec8"}

// All returns the scripts that every master has loaded, in the order of loading.
func All(fencing bool) []Script {
	if fencing {
		return []Script{Release, Extend, Batch, Shared, FencedAcquire, FencedExtend, Raise, Open, Seed, ReadRegisters, Switch, Trial}
	}
	return []Script{Release, Extend, Batch, Shared}
}
