package result

import (
	"cmp"
	"os"
	"runtime"
	"runtime/debug"
)

// Tool is the program that measured.
type Tool struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	Commit  string `json:"commit,omitempty"`
	Go      string `json:"go"`
}

// Env is the machine it measured on.
type Env struct {
	OS         string `json:"os"`
	Arch       string `json:"arch"`
	CPUs       int    `json:"cpus"`
	GOMAXPROCS int    `json:"gomaxprocs"`
	Kernel     string `json:"kernel"`
	CPU        string `json:"cpu,omitempty"` // model name, where the system reports it
	Host       string `json:"host,omitempty"`
	// The following are as Linux reports them, and absent elsewhere.
	MemoryBytes    int64   `json:"memory_bytes,omitempty"`
	CPULimit       float64 `json:"cpu_limit,omitempty"`      // processors that the control group may use; absent: all
	Virtualization string  `json:"virtualization,omitempty"` // "vm (QEMU), container"; absent: none that shows
	Clocksource    string  `json:"clocksource,omitempty"`    // tsc; others make every reading of the clock slower
	Governor       string  `json:"governor,omitempty"`       // of the first processor's frequency
}

// CurrentTool reads name, version and commit from the build information.
func CurrentTool() Tool {
	t := Tool{Name: "lockbench", Version: "(devel)", Go: runtime.Version()}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return t
	}
	if info.Main.Version != "" {
		t.Version = info.Main.Version
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			t.Commit = s.Value
		}
	}
	return t
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
	machine{os.DirFS("/")}.describe(&e)
	e.Kernel = cmp.Or(e.Kernel, e.OS)
	return e
}
