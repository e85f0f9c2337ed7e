package result

import (
	"cmp"
	"io/fs"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
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
	// Virtualization is "vm", "container" or both, as far as Linux shows it.
	Virtualization string `json:"virtualization,omitempty"`
}

// CurrentEnv describes this machine.
func CurrentEnv() Env {
	e := Env{OS: runtime.GOOS, Arch: runtime.GOARCH, CPUs: runtime.NumCPU(), GOMAXPROCS: runtime.GOMAXPROCS(0)}
	e.Host, _ = os.Hostname()
	e.describe(os.DirFS("/"))
	e.Kernel = cmp.Or(e.Kernel, e.OS)
	return e
}

// describe fills in fields from files of a Linux system. On other systems the fields stay empty.
func (e *Env) describe(root fs.FS) {
	release, _ := fs.ReadFile(root, "proc/sys/kernel/osrelease")
	e.Kernel = strings.TrimSpace(string(release))
	cpuinfo, _ := fs.ReadFile(root, "proc/cpuinfo")
	for line := range strings.Lines(string(cpuinfo)) { // of the last processor; all are alike
		name, value, _ := strings.Cut(line, ":")
		switch strings.TrimSpace(name) {
		case "model name":
			e.CPU = strings.TrimSpace(value)
		case "flags":
			if slices.Contains(strings.Fields(value), "hypervisor") {
				e.Virtualization = "vm"
			}
		}
	}
	_, docker := fs.Stat(root, ".dockerenv")
	if _, podman := fs.Stat(root, "run/.containerenv"); docker == nil || podman == nil {
		e.Virtualization = strings.TrimPrefix(e.Virtualization+", container", ", ")
	}
}
