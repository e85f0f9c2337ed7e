package bench

import (
	"os"
	"runtime"
	"runtime/debug"
)

// SchemaVersion of Document; fields are only ever added to a version.
const SchemaVersion = 2

// Document is the whole -o json output.
type Document struct {
	SchemaVersion int        `json:"schema_version"`
	Tool          Tool       `json:"tool"`
	Env           Env        `json:"env"`
	Config        RunConfig  `json:"config"`
	Results       []*Result  `json:"results"`
	Relative      []Relative `json:"relative"`
	Sweep         *Sweep     `json:"sweep,omitempty"`    // runs of several settings
	Capacity      []Capacity `json:"capacity,omitempty"` // searches of the highest rate
}

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

// RunConfig is the workload and what it was given to.
type RunConfig struct {
	Config
	Impls     []string `json:"impls"`
	Rounds    int      `json:"rounds"`
	Reference string   `json:"reference,omitempty"`
	Masters   []string `json:"masters"` // addresses, without any password
}

// NewDocument puts results into a document of this process and this machine,
// with the rows of Relative when cfg names a reference.
func NewDocument(cfg RunConfig, results []*Result) Document {
	cfg.Impls, cfg.Masters = notNil(cfg.Impls), notNil(cfg.Masters)
	d := Document{
		SchemaVersion: SchemaVersion,
		Tool:          CurrentTool(),
		Env:           CurrentEnv(),
		Config:        cfg,
		Results:       notNil(results),
		Relative:      []Relative{},
	}
	if cfg.Reference != "" {
		d.Relative = RelativeTo(cfg.Reference, results)
	}
	return d
}

// notNil keeps null out of the JSON where readers expect an array.
func notNil[T any](s []T) []T { return append([]T{}, s...) }

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
		Kernel:     kernel(),
		Host:       host,
	}
	machine{os.DirFS("/")}.describe(&e)
	return e
}
