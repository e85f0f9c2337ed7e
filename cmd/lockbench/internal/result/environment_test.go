package result

import (
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"
)

func TestTheMachineIsDescribedByItsFiles(t *testing.T) {
	root := fstest.MapFS{}
	described := func() (e Env) {
		e.describe(root)
		return e
	}
	require.Equal(t, Env{}, described(), "an unknown system is not made up")
	root["run/.containerenv"] = &fstest.MapFile{}
	require.Equal(t, Env{Virtualization: "container"}, described())
	root["proc/cpuinfo"] = &fstest.MapFile{Data: []byte("processor\t: 0\nmodel name\t: Fast 3000\nflags\t\t: fpu hypervisor sse\n")}
	root["proc/sys/kernel/osrelease"] = &fstest.MapFile{Data: []byte("6.1\n")}
	require.Equal(t, Env{Kernel: "6.1", CPU: "Fast 3000", Virtualization: "vm, container"}, described())
}
