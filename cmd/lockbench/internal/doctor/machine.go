package doctor

import (
	"fmt"
	"io/fs"
	"runtime"
	"slices"
	"strings"
	"time"

	"muxlock/bench"
	"muxlock/internal/clock"
)

// goodClocks are read without a system call.
var goodClocks = []string{"tsc", "kvm-clock", "arch_sys_counter", "hyperv_clocksource_tsc_page"}

const sleptMost = time.Second

// slept is how long this machine was suspended since it started; 0 where that is not known.
func slept() time.Duration {
	return time.Duration(max(clock.Boottime()-bench.Monotonic(), 0))
}

// machine judges the machine that holds the locks. root is its file system; slept is how
// long it was suspended since it started.
func machine(root fs.FS, slept time.Duration, serversHere bool) (found []Finding) {
	add := func(level Level, check, text, todo string) {
		found = append(found, Finding{level, check, nil, text, todo})
	}
	read := func(name string) string {
		b, _ := fs.ReadFile(root, name)
		return strings.TrimSpace(string(b))
	}

	cpus := fmt.Sprintf("%d of %d processors", runtime.GOMAXPROCS(0), runtime.NumCPU())
	if n := throttled(read("sys/fs/cgroup/cpu.stat") + "\n" + read("sys/fs/cgroup/cpu/cpu.stat")); n != "" && n != "0" {
		add(Warn, "processors", fmt.Sprintf("%s; its quota stopped this container %s times: a holder that stands still may outlast its lease", cpus, n), "raise the CPU limit")
	} else {
		add(OK, "processors", cpus, "")
	}
	switch source := read("sys/devices/system/clocksource/clocksource0/current_clocksource"); {
	case source == "":
		add(Unknown, "clock source", "not reported here", "")
	case !slices.Contains(goodClocks, source):
		add(Warn, "clock source", source+": each look at the clock is a system call", "use tsc, or your hypervisor's own")
	default:
		add(OK, "clock source", source, "")
	}
	if slept > sleptMost {
		add(Warn, "suspend", fmt.Sprintf("this machine has slept for %s since it started; who sleeps holding a lock loses it", slept.Round(time.Second)), "the engine notices when it wakes; let no machine that holds locks sleep")
	}
	if pages := read("sys/kernel/mm/transparent_hugepage/enabled"); serversHere && strings.Contains(pages, "[always]") {
		add(Warn, "huge pages", "transparent huge pages are always on: a server on this machine stalls when it forks", "echo madvise > /sys/kernel/mm/transparent_hugepage/enabled")
	}
	return found
}

// throttled reads nr_throttled of a cpu.stat.
func throttled(stat string) string {
	for line := range strings.Lines(stat) {
		if n, ok := strings.CutPrefix(strings.TrimSpace(line), "nr_throttled "); ok {
			return n
		}
	}
	return ""
}
