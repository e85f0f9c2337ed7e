package result

import (
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"
)

func files(texts map[string]string) machine {
	root := fstest.MapFS{}
	for name, text := range texts {
		root[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return machine{root}
}

func TestTheMachineIsDescribedByItsFiles(t *testing.T) {
	var e Env
	files(map[string]string{
		"proc/cpuinfo":     "processor\t: 0\nmodel name\t: Fast 3000\nflags\t\t: fpu hypervisor sse\n\nprocessor\t: 1\nmodel name\t: Other\n",
		"proc/meminfo":     "MemTotal:       16384 kB\nMemFree:  1 kB\n",
		"proc/self/cgroup": "0::/a/b\n",
		"sys/devices/system/clocksource/clocksource0/current_clocksource": "tsc\n",
		"sys/devices/system/cpu/cpu0/cpufreq/scaling_governor":            "powersave\n",
		"sys/class/dmi/id/sys_vendor":                                     "QEMU\n",
		"sys/fs/cgroup/a/b/cpu.max":                                       "max 100000\n",
		"sys/fs/cgroup/a/cpu.max":                                         "150000 100000\n",
		".dockerenv":                                                      "",
	}).describe(&e)
	require.Equal(t, Env{
		CPU: "Fast 3000", MemoryBytes: 16 << 20, CPULimit: 1.5, Virtualization: "vm (QEMU), container", Clocksource: "tsc", Governor: "powersave",
	}, e)
}

func TestAnUnknownSystemIsNotMadeUp(t *testing.T) {
	var e Env
	files(nil).describe(&e)
	require.Equal(t, Env{}, e)
}

func TestTheLeastLimitOfAllControlGroupsCounts(t *testing.T) {
	for _, c := range []struct {
		want  float64
		texts map[string]string
	}{
		{0, map[string]string{"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/cpu.max": "max 100000"}},
		{0.5, map[string]string{"proc/self/cgroup": "0::/x\n", "sys/fs/cgroup/cpu.max": "50000 100000", "sys/fs/cgroup/x/cpu.max": "400000 100000"}},
		{2, map[string]string{"proc/self/cgroup": "4:memory:/m\n2:cpu,cpuacct:/x\n", "sys/fs/cgroup/cpu/x/cpu.cfs_quota_us": "200000", "sys/fs/cgroup/cpu/x/cpu.cfs_period_us": "100000"}},
		{0, map[string]string{"proc/self/cgroup": "2:cpuacct:/x\n3:cpu:/x\n", "sys/fs/cgroup/cpu/x/cpu.cfs_quota_us": "-1", "sys/fs/cgroup/cpu/x/cpu.cfs_period_us": "100000"}},
		{0, map[string]string{"proc/self/cgroup": "nonsense", "sys/fs/cgroup/cpu.max": "1 1"}},
		{0, map[string]string{"proc/self/cgroup": "0::/../..", "sys/fs/cgroup/cpu.max": "NaN 0"}},
	} {
		require.Equal(t, c.want, files(c.texts).cpuLimit(), c.texts)
	}
}
