// Package output writes what a run found: tables for people, one JSON document
// for programs, progress for the impatient.
package output

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"muxlock/bench"
	"muxlock/cmd/lockbench/internal/advice"
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
	Command       string        `json:"command"` // run or compare
	Target        string        `json:"target"`  // given, local or embedded
	Server        string        `json:"server"`  // version of the first master
	MasterTimeout time.Duration `json:"master_timeout_ns"`
	NewMasters    bool          `json:"new_masters"`
	ProbeEvery    time.Duration `json:"probe_every_ns"` // 0: no prober ran
	Faults        []string      `json:"faults"`
	History       string        `json:"history_file,omitempty"` // chaos: where the events around an overlap went
	// MastersRedacted: user names or passwords were left out of Masters.
	MastersRedacted bool     `json:"masters_redacted,omitempty"`
	Profile         string   `json:"profile,omitempty"`
	SLO             []string `json:"slo"`
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

func masters(c Config) string {
	n := len(c.Masters)
	s := fmt.Sprintf("%d masters", n)
	if n == 1 {
		s = "1 master"
	}
	if c.Server != "" {
		return fmt.Sprintf("%s (%s, %s)", s, c.Target, c.Server)
	}
	return fmt.Sprintf("%s (%s)", s, c.Target)
}

func workers(c Config) string {
	s := fmt.Sprintf("%d workers", c.Workers)
	if c.Procs > 1 {
		s = fmt.Sprintf("%d processes x %d workers", c.Procs, c.Workers)
	}
	if c.Rate > 0 {
		arrivals := c.Arrivals
		if arrivals == "" {
			arrivals = bench.Poisson
		}
		return fmt.Sprintf("%s/s %s, at most %s", number(c.Rate), arrivals, s)
	}
	return s
}

func keys(c Config) string {
	switch {
	case c.Op == bench.Hold:
		return fmt.Sprintf("%d to hold", c.Keys)
	case c.Dist == (bench.Dist{}):
		return "own"
	}
	return fmt.Sprintf("%d %s", c.Keys, c.Dist)
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
				once(fmt.Sprintf("NOT VALID %s: %s%s", r.Impl, reason, n))
			}
		}
		for _, sample := range r.ErrorSamples {
			once(fmt.Sprintf("ERROR %s: %s", r.Impl, strings.ReplaceAll(sample, "\n", "; ")))
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

// duration is three digits and a unit.
func duration(ns float64) string {
	switch {
	case ns >= 1e9:
		return digits(ns/1e9) + "s"
	case ns >= 1e6:
		return digits(ns/1e6) + "ms"
	case ns >= 1e3:
		return digits(ns/1e3) + "us"
	}
	return digits(ns) + "ns"
}

// digits shows three significant digits, or all that stand before the point.
func digits(v float64) string {
	switch {
	case v == 0:
		return "0"
	case v >= 100:
		return fmt.Sprintf("%.0f", v)
	case v >= 10:
		return fmt.Sprintf("%.1f", v)
	case v >= 0.01:
		return fmt.Sprintf("%.2f", v)
	}
	return fmt.Sprintf("%.1g", v)
}

// number groups a count by thousands.
func number(v float64) string {
	s := fmt.Sprintf("%.0f", math.Round(v))
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// buffer holds a page until it is whole, so that only flush can fail.
type buffer struct{ bytes.Buffer }

func (b *buffer) flush(w io.Writer) error {
	_, err := w.Write(b.Bytes())
	return err
}
