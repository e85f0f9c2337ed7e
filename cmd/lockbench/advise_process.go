package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"muxlock/bench"
	"muxlock/cmd/lockbench/internal/advice"
	"muxlock/cmd/lockbench/internal/masters"
	"muxlock/cmd/lockbench/internal/result"
	"muxlock/engine"
)

// adviseProcess is advise --from: it rests on what an engine measured in the user's own process.
func (f *adviseFlags) adviseProcess(cmd *cobra.Command, files []string, ask advice.Ask) error {
	if len(files) > 0 {
		return usagef("--from reads %s, and %s was given, too: give one of them", f.from, files[0])
	}
	if err := f.measuresNothing(cmd, f.from); err != nil {
		return err
	}
	p, err := advice.ReadProcess(f.from)
	var m *advice.Measured
	if err == nil {
		m, err = advice.MeasureProcess(p)
	}
	if err != nil {
		return usageError{fmt.Errorf("--from: %s: %w", f.from, err)}
	}
	out, err := f.load.outputs.open(cmd)
	if err != nil {
		return err
	}
	defer out.close()
	doc := processDocument(p)
	doc.Advice = advice.Make(m, ask)
	doc.Advice.Args = arguments(cmd, measuredBy...)
	return errors.Join(out.document(doc), missed(doc.Advice))
}

// processDocument has no results, and knows nothing of the machine: it was another one.
func processDocument(p *engine.Measurements) result.Document {
	cfg := bench.RunConfig{Impls: []string{adviseImpl}, Rounds: 1, Masters: p.Masters}
	doc := result.Document{Document: bench.NewDocument(cfg, nil)}
	doc.Env = bench.Env{}
	doc.Config = result.Config{RunConfig: doc.Document.Config, Command: "advise", Target: string(masters.Given), Fencing: p.Fencing, Faults: []string{}, SLO: []string{}}
	return doc
}
