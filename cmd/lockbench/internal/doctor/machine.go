package doctor

import (
	"fmt"
	"io/fs"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"muxlock/bench"
	"muxlock/cmd/lockbench/internal/sizing"
	"muxlock/internal/clock"
	"muxlock/internal/findings"
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
func machine(root fs.FS, slept time.Duration, serversHere bool) (found []findings.Finding) {
	add := func(level findings.Level, check, text, todo string) {
		found = append(found, findings.Finding{Level: level, Check: check, Text: text, ToDo: todo})
	}
	read := func(name string) string {
		b, _ := fs.ReadFile(root, name)
		return strings.TrimSpace(string(b))
	}

	cpus := fmt.Sprintf("%d of %d processors", runtime.GOMAXPROCS(0), runtime.NumCPU())
	if n := throttled.FindStringSubmatch(read("sys/fs/cgroup/cpu.stat") + "\n" + read("sys/fs/cgroup/cpu/cpu.stat")); n != nil && n[1] != "0" {
		add(findings.Warn, "processors", fmt.Sprintf("%s; its quota stopped this container %s times: a holder that stands still may outlast its lease", cpus, n[1]), "raise the CPU limit")
	} else {
		add(findings.OK, "processors", cpus, "")
	}
	switch source := read("sys/devices/system/clocksource/clocksource0/current_clocksource"); {
	case source == "":
		add(findings.Unknown, "clock source", "not reported here", "")
	case !slices.Contains(goodClocks, source):
		add(findings.Warn, "clock source", source+": each look at the clock is a system call", "use tsc, or your hypervisor's own")
	default:
		add(findings.OK, "clock source", source, "")
	}
	if slept > sleptMost {
		add(findings.Warn, "suspend", fmt.Sprintf("this machine has slept for %s since it started; who sleeps holding a lock loses it", slept.Round(time.Second)), "the engine notices when it wakes; let no machine that holds locks sleep")
	}
	found = append(found, timeDaemon(root))
	if pages := read("sys/kernel/mm/transparent_hugepage/enabled"); serversHere && strings.Contains(pages, "[always]") {
		add(findings.Warn, "huge pages", "transparent huge pages are always on: a server on this machine stalls when it forks", "echo madvise > /sys/kernel/mm/transparent_hugepage/enabled")
	}
	return found
}

// throttled finds how often in a cpu.stat.
var throttled = regexp.MustCompile(`(?m)^\s*nr_throttled (.*?)\s*$`)

// maxSlewrate is the directive of chrony that bounds how fast it slews, in ppm.
var maxSlewrate = regexp.MustCompile(`(?im)^\s*maxslewrate\s+([0-9.]+)`)

// timeDaemon judges Drift by what the daemon that runs here may do to the clock. One that
// runs outside of this container, or beside a master, is not seen.
func timeDaemon(root fs.FS) findings.Finding {
	running := map[string]bool{}
	names, _ := fs.Glob(root, "proc/[0-9]*/comm")
	for _, name := range names {
		comm, _ := fs.ReadFile(root, name)
		running[strings.TrimSpace(string(comm))] = true
	}
	i := slices.IndexFunc(sizing.TimeDaemons, func(d sizing.TimeDaemon) bool { return running[d.Process] })
	if i < 0 {
		return findings.Finding{Level: findings.Unknown, Check: "time daemon", Text: fmt.Sprintf("none is seen here; on every machine with a master or a holder it must not slew by more than %.0f ppm", slewMost), ToDo: "chrony: maxslewrate 4000"}
	}
	d := sizing.TimeDaemons[i]
	for _, name := range []string{"etc/chrony.conf", "etc/chrony/chrony.conf"} {
		conf, _ := fs.ReadFile(root, name)
		if set := maxSlewrate.FindSubmatch(conf); d.Process == "chronyd" && set != nil {
			d.SlewPPM, _ = strconv.ParseFloat(string(set[1]), 64)
		}
	}
	text := fmt.Sprintf("%s may slew the clock here by %.0f ppm", d.Name, d.SlewPPM)
	if d.SlewPPM > slewMost {
		todo := "use chrony, with maxslewrate 4000"
		if d.Process == "chronyd" {
			todo = "maxslewrate 4000 in chrony.conf, on every machine with a master or a holder"
		}
		return findings.Finding{Level: findings.Warn, Check: "time daemon", Text: text + fmt.Sprintf(": two such clocks may differ by more than Drift allows for, %.0f ppm each", slewMost), ToDo: todo + "; or raise Drift"}
	}
	return findings.Finding{Level: findings.OK, Check: "time daemon", Text: text}
}
