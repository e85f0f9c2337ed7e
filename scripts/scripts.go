// Package scripts holds the Lua that runs inside the masters. The header of each file says what the
// script takes, and what each result means.
package scripts

import "embed"

// Script is one Lua file with its SHA-1, the name by which EVALSHA calls it. The SHA-1 is a
// constant: it is not computed by an algorithm that a FIPS build refuses. A test holds it against SCRIPT LOAD.
type Script struct {
	Name, Source, SHA1 string
}

//go:embed *.lua
var sources embed.FS

// script returns the script in a file. The test of the SHA-1 finds a wrong name.
func script(name, sha1 string) Script {
	source, _ := sources.ReadFile(name + ".lua")
	return Script{name, string(source), sha1}
}

// The scripts that every master has loaded.
var (
	Release = script("release", "bc93df30305ce07c1de064d00a15782220731b6f")
	Extend  = script("extend", "5fe382a1443c33329e31925149304af749357bea")
	Batch   = script("batch", "72fdbdeb201c59beda169a5942ca1b7ed6fd35a8")
	Shared  = script("shared", "3fcd008b08776ffb024ccbf1ec2cef8588562f62")
)

// The scripts of fencing. The first three are sent with rounds; the others set masters up and admit
// them.
var (
	FencedAcquire = script("fenced_acquire", "b59fabba1dd2e154a4b7c5cbde6f440f696ce9da")
	FencedExtend  = script("fenced_extend", "ab23258d4cc48d80a9bad8cab5cad1495d781ef9")
	Raise         = script("raise", "522ac642db7aa35acf63ffe6df5544677b2637b8")
	Open          = script("open", "0d3fdd30cb12533c5bd8c7bb35b574777f5fee1d")
	Seed          = script("seed", "5179661dbc129a6d058695df053f6a3a66381bd3")
	ReadRegisters = script("registers", "687724dcbd16613760dc6e54eca13afb1867b96d")
	Switch        = script("switch", "8803c424f490e9191957b10bda39a7fdf43df8b5")
	Trial         = script("trial", "72d52ea95cb8591316e4011517612127b4c61012")
)

// The scripts of a line, with fencing or without. A master loads them when somebody first asks for a line.
var (
	Wait = script("wait", "c1cd0c397b60b0e432798abe999ca73a282b4d1c")
	Pass = script("pass", "05ef9a9a5af9e361be512a727c638c4be34c6633")
)

// Inspect is for people, and rare: each call loads it.
var Inspect = script("inspect", "cb3cb72f37c55f3f9933e32c3fa78a8c92af25b7")

// All returns the scripts that every master has loaded, in the order of loading.
func All(fencing bool) []Script {
	if fencing {
		return []Script{Release, Extend, Batch, Shared, FencedAcquire, FencedExtend, Raise, Open, Seed, ReadRegisters, Switch, Trial}
	}
	return []Script{Release, Extend, Batch, Shared}
}
