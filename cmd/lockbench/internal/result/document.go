// Package result has the document of results: its fields, its formats for programs, reading it
// back, and the comparison of results.
package result

import (
	"encoding/json"
	"io"
	"slices"
	"strings"

	"muxlock/bench"
	"muxlock/cmd/lockbench/internal/sizing"
)

// ReasonEmbedded is a reason against every run on embedded masters.
const ReasonEmbedded bench.ReasonKind = "embedded masters: the speed means nothing"

// SchemaVersion of Document; fields are only ever added to a version.
const SchemaVersion = 3

// Document is the whole -o json output.
type Document struct {
	SchemaVersion int             `json:"schema_version"`
	Tool          Tool            `json:"tool"`
	Env           Env             `json:"env"`
	Config        Config          `json:"config"`
	Results       []*bench.Result `json:"results"`
	Relative      []Relative      `json:"relative"`
	Sweep         *Sweep          `json:"sweep,omitempty"`  // figures by setting
	Advice        *Advice         `json:"advice,omitempty"` // of advise only
}

// Advice has the sizes and the command to try them.
type Advice struct {
	Ask sizing.Ask `json:"ask"`
	sizing.Sizes
	From string `json:"from,omitempty"` // file of a process's measurements; empty: the document has the results
	Try  string `json:"try"`            // command that runs Config on the masters of the measurement; empty: none can
}

// NewDocument makes a document of results from this process and this machine. It has Relative if
// cfg names a reference.
func NewDocument(cfg Config, results []*bench.Result) Document {
	cfg.Impls, cfg.Masters, cfg.Faults, cfg.SLO = notNil(cfg.Impls), notNil(cfg.Masters), notNil(cfg.Faults), notNil(cfg.SLO)
	d := Document{
		SchemaVersion: SchemaVersion,
		Tool:          CurrentTool(),
		Env:           CurrentEnv(),
		Config:        cfg,
		Results:       notNil(results),
		Relative:      []Relative{},
	}
	for _, part := range d.Parts() {
		if cfg.Reference != "" {
			d.Relative = append(d.Relative, RelativeTo(cfg.Reference, part.Results)...)
		}
	}
	return d
}

// notNil keeps null out of the JSON: readers expect an array.
func notNil[T any](s []T) []T { return append([]T{}, s...) }

// Config has the settings, and what they met.
type Config struct {
	Settings
	Loads           []Load            `json:"loads,omitempty"` // of a comparison of several; the first is that of the settings
	Reference       string            `json:"reference,omitempty"`
	Command         string            `json:"command"`                    // run, compare, sweep, advise or chaos
	Masters         []string          `json:"masters"`                    // addresses
	MastersRedacted bool              `json:"masters_redacted,omitempty"` // Masters lack user names or passwords
	Target          Target            `json:"target"`
	Server          string            `json:"server"`            // version of the first master
	Clients         map[string]Client `json:"clients,omitempty"` // client libraries, by implementation
}

// Compares reports whether the document is a comparison.
func (d Document) Compares() bool { return d.Config.Command == "compare" }

// Open reports whether the load was an open loop.
func (d Document) Open() bool { return d.Config.Rate > 0 }

// Sweeps reports whether a sweep varied that flag.
func (d Document) Sweeps(flag string) bool {
	return d.Sweep != nil && slices.ContainsFunc(d.Sweep.Params, func(p SweepParam) bool { return p.Name == flag })
}

// Impls returns the implementations in the order of the results.
func Impls(results []*bench.Result) (impls []string) {
	for _, r := range results {
		if !slices.Contains(impls, r.Impl) {
			impls = append(impls, r.Impl)
		}
	}
	return impls
}

// Finished returns impl's runs that were not interrupted.
func Finished(results []*bench.Result, impl string) []*bench.Result {
	return Where(results, func(r *bench.Result) bool { return r.Impl == impl && !r.Interrupted() })
}

// Of returns impl's finished runs, or its interrupted ones if none finished.
func Of(results []*bench.Result, impl string) []*bench.Result {
	if whole := Finished(results, impl); len(whole) > 0 {
		return whole
	}
	return Where(results, func(r *bench.Result) bool { return r.Impl == impl })
}

// Where returns those of all that are to be kept.
func Where[T any](all []T, keep func(T) bool) []T {
	return slices.DeleteFunc(slices.Clone(all), func(v T) bool { return !keep(v) })
}

// Name names an implementation at a setting.
func Name(impl string, setting map[string]string) string {
	return strings.TrimRight(impl+"  "+SettingText(setting), " ")
}

// JSON writes a document, or another value for programs.
func JSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(v)
}
