package main

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"muxlock/bench"
	"muxlock/cmd/lockbench/internal/advice"
	"muxlock/cmd/lockbench/internal/result"
	"muxlock/cmd/lockbench/internal/text"
	"muxlock/cmd/lockbench/internal/units"
)

func (f *flags) declareCheck(cmd *cobra.Command) {
	declare(cmd, ofJudgement, func(fs *pflag.FlagSet) {
		fs.StringVar(&f.check, "check", "", "try what lockbench advise -o json wrote into this file, on its masters: predicted, measured, and PASS or FAIL as the last line")
		once(fs, "check")
	})
}

// takeCheck gives the flags that the user leaves alone what an advice has: its masters,
// the user's load, and every advised setting.
func (f *flags) takeCheck(cmd *cobra.Command) error {
	if f.check == "" {
		return nil
	}
	if f.config != "" {
		return usagef("--check and --config exclude each other")
	}
	doc, err := result.ReadFile(f.check)
	switch {
	case err != nil:
		return usagef("--check: %w", err)
	case doc.Advice == nil || len(doc.Advice.Trial) == 0:
		return usagef("--check: %s holds no advice to be tried; lockbench advise -o json --out %s makes one", f.check, f.check)
	}
	f.advice = doc.Advice
	settings := append(settingsOf(doc.Advice.Trial), setting{"fault", doc.Config.Faults})
	return f.takeFrom(cmd, "--check", f.check, doc, settings)
}

// predictions is what the advice predicts for this load, as objectives.
func (f *flags) predictions(p *plan) (all []advice.Prediction, err error) {
	if f.advice == nil {
		return nil, nil
	}
	acquire, percentile := "acquire", "99"
	if !p.ownNames() { // waits for others are no part of what an acquire takes
		acquire, percentile = "uncontended", "50"
	}
	all = f.advice.Predictions(acquire, percentile)
	for _, one := range all {
		o, err := bench.ParseObjective(one.Figure + "<=" + limitOf(one))
		if err == nil {
			err = o.Possible(p.cfg)
		}
		if err != nil {
			return nil, usagef("--check: %w", err)
		}
		p.objectives = append(p.objectives, o)
	}
	return all, nil
}

// limitOf writes a limit as --slo takes it.
func limitOf(p advice.Prediction) string {
	if p.Limit > 1 {
		return strings.Replace(time.Duration(p.Limit).Round(time.Microsecond).String(), "µ", "u", 1)
	}
	return strconv.FormatFloat(p.Limit, 'g', 3, 64)
}

// showChecked writes each prediction beside what was measured, in every round.
func showChecked(w io.Writer, predictions []advice.Prediction, results []*bench.Result) {
	for _, p := range predictions {
		for _, r := range results {
			i := slices.IndexFunc(r.SLO, func(s bench.SLO) bool { return s.Text == p.Figure+"<="+limitOf(p) })
			if i < 0 {
				continue
			}
			s := r.SLO[i]
			verdict := map[bool]string{true: "PASS", false: "FAIL"}[s.Pass]
			if s.Reason != "" {
				verdict = "not judged: " + s.Reason
			}
			fmt.Fprintln(w, text.Fold(fmt.Sprintf("%s: predicted %s, at most %s, measured %s: %s", p.Figure,
				units.In(s.Unit, p.Predicted), units.In(s.Unit, p.Limit), units.In(s.Unit, s.Value), verdict)))
		}
	}
}
