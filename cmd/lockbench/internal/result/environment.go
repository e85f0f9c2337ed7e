package result

import (
	"cmp"
	"io/fs"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
)

// Tool is the program that measured.
type Tool struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	Commit  string `json:"commit,omitempty"`
	Go      string `json:"go"`
}

// CurrentTool reads name, version and commit from the build information.
func CurrentTool() Tool {
	t := Tool{Name: "lockbench", Version: "(devel)", Go: runtime.Version()}
	if info, ok := debug.ReadBuildInfo(); ok {
		t.Version = cmp.Or(info.Main.Version, t.Version)
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				t.Commit = s.Value
			}
		}
	}
	return t
}

// Env describes the machine of a measurement.
type Env struct {
	OS         string `json:"os"`
	Arch       string `json:"arch"`
	CPUs       int    `json:"cpus"`
	GOMAXPROCS int    `json:"gomaxprocs"` // follows the limit of the control group; at least 2
	Kernel     string `json:"kernel"`
	CPU        string `json:"cpu,omitempty"` // model name, where the system reports it
	Host       string `json:"host,omitempty"`
	// The following are as Linux reports them, and absent elsewhere.
	MemoryBytes    int64  `json:"memory_bytes,omitempty"`
	Virtualization string `json:"virtualization,omitempty"` // "vm (QEMU), container"; absent: none found
	Clocksource    string `json:"clocksource,omitempty"`    // tsc; with others, reading the clock is slower
	Governor       string `json:"governor,omitempty"`       // of the first processor's frequency
}

// CurrentEnv describes this machine.
func CurrentEnv() Env {
	host, _ := os.Hostname()
	e := Env{
		OS:         runtime.GOOS,
		Arch:       runtime.GOARCH,
		CPUs:       runtime.NumCPU(),
		GOMAXPROCS: runtime.GOMAXPROCS(0),
		Host:       host,
	}
	e.describe(os.DirFS("/"))
	e.Kernel = cmp.Or(e.Kernel, e.OS)
	return e
}

// describe fills in fields from files of a Linux system. On other systems the fields stay empty.
func (e *Env) describe(root fs.FS) {
	text := func(name string) string {
		b, _ := fs.ReadFile(root, name) // empty without the file
		return strings.TrimSpace(string(b))
	}
	// field returns the first value of that name in a file of lines "name: value".
	field := func(file, name string) string {
		_, after, _ := strings.Cut("\n"+text(file), "\n"+name)
		line, _, _ := strings.Cut(after, "\n")
		return strings.Trim(line, " \t:")
	}
	e.Kernel = strings.TrimSpace(text("proc/sys/kernel/ostype") + " " + text("proc/sys/kernel/osrelease"))
	e.CPU = field("proc/cpuinfo", "model name")
	kb, _ := strconv.ParseInt(strings.TrimSuffix(field("proc/meminfo", "MemTotal"), " kB"), 10, 64)
	e.MemoryBytes = kb << 10
	e.Clocksource = text("sys/devices/system/clocksource/clocksource0/current_clocksource")
	e.Governor = text("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")

	var kinds []string
	if strings.Contains(" "+field("proc/cpuinfo", "flags")+" ", " hypervisor ") {
		kinds = append(kinds, strings.TrimSuffix("vm ("+text("sys/class/dmi/id/sys_vendor")+")", " ()"))
	}
	for _, mark := range []string{".dockerenv", "run/.containerenv"} {
		if _, err := fs.Stat(root, mark); err == nil {
			kinds = append(kinds, "container")
			break
		}
	}
	e.Virtualization = strings.Join(kinds, ", ")
}
