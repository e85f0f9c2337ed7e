// Package output writes what a run found: tables for people, one JSON document, lines
// or a table for programs, and while it runs progress, as lines or as a view that is
// drawn again and again. It also reads documents back.
package output

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"muxlock/bench"
	"muxlock/cmd/lockbench/internal/advice"
	"muxlock/cmd/lockbench/internal/rivals"
	"muxlock/cmd/lockbench/internal/validation"
)

// EmbeddedReason stands in valid.reasons of every run on embedded masters.
const EmbeddedReason = "embedded masters: the speed means nothing"

// Document is bench's document, and what only the command knows.
type Document struct {
	bench.Document
	Config Config         `json:"config"`           // hides bench's, which it contains
	Advice *advice.Advice `json:"advice,omitempty"` // of advise only
	// Validation is the predictions that were held against what happened; of validate only.
	Validation []validation.Check `json:"validation,omitempty"`
}

// Config is everything that is needed to do it again.
type Config struct {
	bench.RunConfig
	Command       string        `json:"command"` // run, compare, sweep, advise, chaos or validate
	Target        string        `json:"target"`  // given, local or embedded
	Server        string        `json:"server"`  // version of the first master
	MasterTimeout time.Duration `json:"master_timeout_ns"`
	NewMasters    bool          `json:"new_masters"`
	ProbeEvery    time.Duration `json:"probe_every_ns"` // 0: no prober ran
	Faults        []string      `json:"faults"`
	FaultKinds    []string      `json:"fault_kinds,omitempty"`  // chaos: what it drew Faults from
	History       string        `json:"history_file,omitempty"` // chaos: where the events around an overlap went
	// MastersRedacted: user names or passwords were left out of Masters.
	MastersRedacted bool     `json:"masters_redacted,omitempty"`
	Profile         string   `json:"profile,omitempty"`
	SLO             []string `json:"slo"`
	// Clients is what each implementation ran on, by its name.
	Clients map[string]rivals.Client `json:"clients,omitempty"`
	// Args is the flags that made the results, as --name=value, without the masters.
	Args []string `json:"args,omitempty"`
}

// JSON writes the document.
func JSON(w io.Writer, doc Document) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(doc)
}

// header is the lines above every table.
func header(w io.Writer, doc Document) {
	c := doc.Config
	fmt.Fprintf(w, "%s  seed %d\n", strings.Join(Workload(doc), "  "), c.Seed)
	if c.Rate > 0 {
		fmt.Fprintln(w, "open loop: latency counts from the moment an operation was due")
	} else {
		fmt.Fprintln(w, "closed loop: a worker begins again when it is done, which hides waiting (--rate shows it)")
	}
	if c.Op != bench.AcquireRelease {
		fmt.Fprintf(w, "op %s\n", c.Op)
	}
	if len(c.Faults) > 0 {
		fmt.Fprintf(w, "faults: %s\n", strings.Join(c.Faults, ", "))
	}
	if c.Target == "embedded" {
		fmt.Fprintln(w, "EMBEDDED MASTERS: THE SPEED MEANS NOTHING. Install redis-server or valkey-server for real ones.")
	}
}

// notes is the caveats in the order of the implementations.
func notes(w io.Writer, impls []string, caveats map[string]string) {
	for _, impl := range impls {
		if caveats[impl] != "" {
			fmt.Fprintf(w, "  %s: %s\n", impl, caveats[impl])
		}
	}
}

// warnings is what speaks against the results, each once.
func warnings(w io.Writer, results []*bench.Result) {
	var seen []string
	once := func(line string) {
		if !slices.Contains(seen, line) {
			seen = append(seen, line)
			fmt.Fprintln(w, line)
		}
	}
	for _, r := range results {
		if r.Safety.Overlaps > 0 {
			once(fmt.Sprintf("SAFETY VIOLATION %s: %d times two held one lock (round %d)", r.Impl, r.Safety.Overlaps, r.Round))
		}
	}
	for _, r := range results {
		for _, reason := range r.Valid.Reasons {
			if reason == EmbeddedReason {
				continue // the header says it
			}
			if first, n := sameReason(results, r.Impl, reason); first == reason {
				once(fmt.Sprintf("NOT VALID %s: %s%s%s", r.Impl, reason, n, Remedy(reason)))
			}
		}
		for _, sample := range r.ErrorSamples {
			once(fmt.Sprintf("ERROR %s: %s", r.Impl, strings.ReplaceAll(sample, "\n", "; ")))
		}
		for _, line := range outlasted(results, r.Impl) {
			once(line)
		}
	}
}

// sameReason is the first of an implementation's reasons that begins as this one does,
// and in how many rounds there is one, where it is more than one: their figures differ.
func sameReason(results []*bench.Result, impl, reason string) (first, rounds string) {
	kind, _, _ := strings.Cut(reason, ":")
	n := 0
	for _, r := range results {
		i := slices.IndexFunc(r.Valid.Reasons, func(s string) bool { return strings.HasPrefix(s, kind) })
		if r.Impl != impl || i < 0 {
			continue
		}
		if n++; n == 1 {
			first = r.Valid.Reasons[i]
		}
	}
	if n > 1 {
		rounds = fmt.Sprintf(" (in %d rounds)", n)
	}
	return first, rounds
}

// buffer holds a page until it is whole, so that only flush can fail.
type buffer struct{ bytes.Buffer }

func (b *buffer) flush(w io.Writer) error {
	_, err := w.Write(b.Bytes())
	return err
}
