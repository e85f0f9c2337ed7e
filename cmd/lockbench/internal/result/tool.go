package result

import (
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
