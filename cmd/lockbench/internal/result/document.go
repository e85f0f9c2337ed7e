// Package result has the document of results: its fields, its formats for programs, reading it
// back, and the comparison of results.
package result

import (
	"encoding/json"
	"io"
	"slices"
	"strings"
	"time"

	"muxlock/bench"
	"muxlock/cmd/lockbench/internal/masters"
	"muxlock/cmd/lockbench/internal/rivals"
	"muxlock/cmd/lockbench/internal/sizing"
)

// ReasonEmbedded is a reason against every run on embedded masters.
const ReasonEmbedded bench.ReasonKind = "embedded masters: the speed means nothing"

// SchemaVersion of Document; fields are only ever added to a version.
const SchemaVersion = 2

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
	Try  string   `json:"try"`            // command that runs Config on the masters of the measurement; empty: none can
	Args []string `json:"args,omitempty"` // of lockbench advise, as in the document's Config
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

// Config has all that is needed to repeat the runs.
type Config struct {
	bench.Config
	Impls         []string      `json:"impls"`
	Loads         []Load        `json:"loads,omitempty"` // of a comparison of several; the first is the Config above
	Rounds        int           `json:"rounds"`
	Reference     string        `json:"reference,omitempty"`
	Masters       []string      `json:"masters"`          // addresses, without any password
	Groups        int           `json:"groups,omitempty"` // that Masters are split into evenly, if there are several
	Command       string        `json:"command"`          // run, compare, sweep, advise or chaos
	Target        masters.Kind  `json:"target"`
	Server        string        `json:"server"` // version of the first master
	MasterTimeout time.Duration `json:"master_timeout_ns"`
	NewMasters    bool          `json:"new_masters"`
	Fencing       bool          `json:"fencing,omitempty"` // locks had fencing tokens, if the implementation has them
	ProbeEvery    time.Duration `json:"probe_every_ns"`    // 0: no prober ran
	Faults        []string      `json:"faults"`
	FaultKinds    []string      `json:"fault_kinds,omitempty"`  // chaos drew Faults from these
	History       string        `json:"history_file,omitempty"` // chaos: file of the events around a violation
	// MastersRedacted says that Masters lack user names or passwords.
	MastersRedacted bool     `json:"masters_redacted,omitempty"`
	SLO             []string `json:"slo"`
	// Clients has the client libraries, by the name of the implementation.
	Clients map[string]rivals.Client `json:"clients,omitempty"`
	// Args has the flags that made the results, as --name=value, without the masters.
	Args []string `json:"args,omitempty"`
}

// Kind is the subject of a document.
type Kind string

// The kinds, by the commands that make them.
const (
	KindRun     Kind = "run"
	KindCompare Kind = "compare"
	KindSweep   Kind = "sweep"
	KindAdvise  Kind = "advise"
	KindChaos   Kind = "chaos"
)

// Kind returns the kind of a document; nothing else decides on it. The command decides, but for
// advice that was added to a kept result.
func (d Document) Kind() Kind {
	command := Kind(d.Config.Command)
	switch {
	case d.Advice != nil:
		return KindAdvise
	case command == KindSweep && d.Sweep != nil, command == KindCompare, command == KindChaos:
		return command
	}
	return KindRun // also an advise or a sweep that ended before its answer
}

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
	return slices.DeleteFunc(slices.Clone(results), func(r *bench.Result) bool { return r.Impl != impl || r.Interrupted() })
}

// Of returns impl's finished runs, or its interrupted ones if none finished.
func Of(results []*bench.Result, impl string) []*bench.Result {
	if whole := Finished(results, impl); len(whole) > 0 {
		return whole
	}
	return slices.DeleteFunc(slices.Clone(results), func(r *bench.Result) bool { return r.Impl != impl })
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
