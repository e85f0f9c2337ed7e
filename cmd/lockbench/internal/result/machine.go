package result

import (
	"io/fs"
	"path"
	"strconv"
	"strings"
)

// machine is what a Linux system reports of itself in files; other systems have
// none of them, and fields stay empty.
type machine struct{ root fs.FS }

// describe fills in what is known.
func (m machine) describe(e *Env) {
	e.Kernel = strings.TrimSpace(m.text("proc/sys/kernel/ostype") + " " + m.text("proc/sys/kernel/osrelease"))
	e.CPU = m.field("proc/cpuinfo", "model name")
	kb, _ := strconv.ParseInt(strings.TrimSuffix(m.field("proc/meminfo", "MemTotal"), " kB"), 10, 64)
	e.MemoryBytes = kb << 10
	e.CPULimit = m.cpuLimit()
	e.Virtualization = m.virtualization()
	e.Clocksource = m.text("sys/devices/system/clocksource/clocksource0/current_clocksource")
	e.Governor = m.text("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")
}

// text is the content of a small file without white space around it; empty when it
// is not there.
func (m machine) text(name string) string {
	b, err := fs.ReadFile(m.root, name)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}

// field is the first of that name in a file of lines "name: value".
func (m machine) field(file, name string) string {
	for line := range strings.Lines(m.text(file)) {
		if key, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == name {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// virtualization is vm, container or both, with the maker's name where it is reported.
func (m machine) virtualization() string {
	var kinds []string
	if strings.Contains(" "+m.field("proc/cpuinfo", "flags")+" ", " hypervisor ") {
		kind := "vm"
		if vendor := m.text("sys/class/dmi/id/sys_vendor"); vendor != "" {
			kind += " (" + vendor + ")"
		}
		kinds = append(kinds, kind)
	}
	for _, mark := range []string{".dockerenv", "run/.containerenv"} {
		if _, err := fs.Stat(m.root, mark); err == nil {
			kinds = append(kinds, "container")
			break
		}
	}
	return strings.Join(kinds, ", ")
}

// cpuLimit is how many processors the control group may use, or one above it; 0 is
// no limit.
func (m machine) cpuLimit() (least float64) {
	for line := range strings.Lines(m.text("proc/self/cgroup")) {
		f := strings.SplitN(strings.TrimSpace(line), ":", 3) // number:controllers:path
		if len(f) < 3 {
			continue
		}
		base, quota := "sys/fs/cgroup", m.quotaV2
		if f[0] != "0" {
			base, quota = "sys/fs/cgroup/cpu", m.quotaV1
			if !strings.Contains(","+f[1]+",", ",cpu,") {
				continue
			}
		}
		for dir := path.Clean("/" + f[2]); ; dir = path.Dir(dir) {
			if limit := quota(path.Join(base, dir)); limit > 0 && (least == 0 || limit < least) {
				least = limit
			}
			if dir == "/" {
				break
			}
		}
	}
	return least
}

func (m machine) quotaV2(dir string) float64 {
	f := strings.Fields(m.text(path.Join(dir, "cpu.max")))
	if len(f) != 2 {
		return 0
	}
	return perPeriod(f[0], f[1])
}

func (m machine) quotaV1(dir string) float64 {
	return perPeriod(m.text(path.Join(dir, "cpu.cfs_quota_us")), m.text(path.Join(dir, "cpu.cfs_period_us")))
}

// perPeriod is 0 for "max", for -1 and for what is no number.
func perPeriod(quota, period string) float64 {
	q, err := strconv.ParseFloat(quota, 64)
	p, perr := strconv.ParseFloat(period, 64)
	if err != nil || perr != nil || !(q > 0 && p > 0) {
		return 0
	}
	return q / p
}
