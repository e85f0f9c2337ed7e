package result

import (
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"
)

func files(texts map[string]string) fstest.MapFS {
	root := fstest.MapFS{}
	for name, text := range texts {
		root[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return root
}

func TestTheMachineIsDescribedByItsFiles(t *testing.T) {
	var e Env
	e.describe(files(map[string]string{
		"proc/cpuinfo": "processor\t: 0\nmodel name\t: Fast 3000\nflags\t\t: fpu hypervisor sse\n\nprocessor\t: 1\nmodel name\t: Other\n",
		"proc/meminfo": "MemTotal:       16384 kB\nMemFree:  1 kB\n",
		"sys/devices/system/clocksource/clocksource0/current_clocksource": "tsc\n",
		"sys/devices/system/cpu/cpu0/cpufreq/scaling_governor":            "powersave\n",
		"sys/class/dmi/id/sys_vendor":                                     "QEMU\n",
		".dockerenv":                                                      "",
	}))
	require.Equal(t, Env{
		CPU: "Fast 3000", MemoryBytes: 16 << 20, Virtualization: "vm (QEMU), container", Clocksource: "tsc", Governor: "powersave",
	}, e)
}

func TestAnUnknownSystemIsNotMadeUp(t *testing.T) {
	var e Env
	e.describe(files(nil))
	require.Equal(t, Env{}, e)
}
