// Package scripts holds the Lua that runs inside the masters. Each file's header
// documents what it takes and what each result means.
package scripts

import _ "embed"

// Script is one Lua file and its SHA-1, the name by which EVALSHA calls it. The
// SHA-1 is a constant, so that it is neither computed at start nor by an
// algorithm that a FIPS build refuses; a test holds it against SCRIPT LOAD.
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
)

// The scripts that masters are to have loaded.
var (
	Release = Script{"release", releaseSource, "bc93df30305ce07c1de064d00a15782220731b6f"}
	Extend  = Script{"extend", extendSource, "5fe382a1443c33329e31925149304af749357bea"}
	Batch   = Script{"batch", batchSource, "391b928abe22a31995d52118a2727c152445b7aa"}
)

// All returns every script, in the order in which they are loaded.
func All() []Script { return []Script{Release, Extend, Batch} }
