// Package result is what a run found, as one document: its fields, its formats for
// programs, reading it back, and the comparison of several.
package result

import (
	"encoding/json"
	"io"
	"slices"
	"strings"
	"time"

	"muxlock/bench"
	"muxlock/cmd/lockbench/internal/rivals"
	"muxlock/cmd/lockbench/internal/sizing"
)

// EmbeddedReason stands in valid.reasons of every run on embedded masters.
const EmbeddedReason = "embedded masters: the speed means nothing"

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
	Sweep         *Sweep          `json:"sweep,omitempty"`    // runs of several settings
	Capacity      []Capacity      `json:"capacity,omitempty"` // searches of the highest rate
	Advice        *Advice         `json:"advice,omitempty"`   // of advise only
}

// Advice is what was sized, from what, and how to try it.
type Advice struct {
	Ask sizing.Ask `json:"ask"`
	sizing.Sizes
	Try  string   `json:"try"`            // the command that runs Config on the masters of the measurement
	Args []string `json:"args,omitempty"` // of lockbench advise, as in Config of the document
	// Explain shows what it was made of, too.
	Explain bool `json:"-"`
}

// NewDocument puts results into a document of this process and this machine,
// with the rows of Relative when cfg names a reference.
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
	if cfg.Reference != "" {
		d.Relative = RelativeTo(cfg.Reference, results)
	}
	return d
}

// notNil keeps null out of the JSON where readers expect an array.
func notNil[T any](s []T) []T { return append([]T{}, s...) }

// Config is everything that is needed to do it again.
type Config struct {
	bench.Config
	Impls         []string      `json:"impls"`
	Rounds        int           `json:"rounds"`
	Reference     string        `json:"reference,omitempty"`
	Masters       []string      `json:"masters"` // addresses, without any password
	Command       string        `json:"command"` // run, compare, sweep, advise or chaos
	Target        string        `json:"target"`  // given, local or embedded
	Server        string        `json:"server"`  // version of the first master
	MasterTimeout time.Duration `json:"master_timeout_ns"`
	NewMasters    bool          `json:"new_masters"`
	Fencing       bool          `json:"fencing,omitempty"` // locks of implementations that can had fencing tokens
	ProbeEvery    time.Duration `json:"probe_every_ns"`    // 0: no prober ran
	Faults        []string      `json:"faults"`
	FaultKinds    []string      `json:"fault_kinds,omitempty"`  // chaos: what it drew Faults from
	History       string        `json:"history_file,omitempty"` // chaos: where the events around an overlap went
	// MastersRedacted: user names or passwords were left out of Masters.
	MastersRedacted bool     `json:"masters_redacted,omitempty"`
	SLO             []string `json:"slo"`
	// Clients is what each implementation ran on, by its name.
	Clients map[string]rivals.Client `json:"clients,omitempty"`
	// Args is the flags that made the results, as --name=value, without the masters.
	Args []string `json:"args,omitempty"`
}

// Kind is what a document is about.
type Kind string

// The kinds, by the commands that make them.
const (
	KindRun      Kind = "run"
	KindCompare  Kind = "compare"
	KindSweep    Kind = "sweep"
	KindCapacity Kind = "capacity" // sweep --find-max
	KindAdvise   Kind = "advise"
	KindChaos    Kind = "chaos"
)

// Kind is decided here alone: by the command, but for two. Advice may be added to a kept
// result of another command, and a sweep may search instead.
func (d Document) Kind() Kind {
	command := Kind(d.Config.Command)
	switch {
	case d.Advice != nil && d.Advice.Least > 0: // earlier versions put another one there
		return KindAdvise
	case command == KindSweep && len(d.Capacity) > 0:
		return KindCapacity
	case command == KindSweep && d.Sweep != nil, command == KindCompare, command == KindChaos:
		return command
	}
	return KindRun // also what came to no advice and to no sweep
}

// Open tells whether the load came at its own times.
func (d Document) Open() bool { return d.Config.Rate > 0 }

// Sweeps tells whether a flag has a value of its own in each setting.
func (d Document) Sweeps(flag string) bool {
	return d.Sweep != nil && slices.ContainsFunc(d.Sweep.Params, func(p SweepParam) bool { return p.Name == flag })
}

// Impls is the implementations in the order of the results.
func Impls(results []*bench.Result) (impls []string) {
	for _, r := range results {
		if !slices.Contains(impls, r.Impl) {
			impls = append(impls, r.Impl)
		}
	}
	return impls
}

// Finished is the runs of one implementation that were not cut short.
func Finished(results []*bench.Result, impl string) []*bench.Result {
	return slices.DeleteFunc(slices.Clone(results), func(r *bench.Result) bool { return r.Impl != impl || r.Interrupted() })
}

// Of is the same, or those that were cut short when there are no others.
func Of(results []*bench.Result, impl string) []*bench.Result {
	if whole := Finished(results, impl); len(whole) > 0 {
		return whole
	}
	return slices.DeleteFunc(slices.Clone(results), func(r *bench.Result) bool { return r.Impl != impl })
}

// Name is an implementation at a setting.
func Name(impl string, setting map[string]string) string {
	return strings.TrimRight(impl+"  "+SettingText(setting), " ")
}

// JSON writes a document, or what else a command gives to programs.
func JSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(v)
}
