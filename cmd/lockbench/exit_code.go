package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"muxlock/bench"
	"muxlock/cmd/lockbench/internal/faults"
	"muxlock/cmd/lockbench/internal/plan"
	"muxlock/cmd/lockbench/internal/result"
	"muxlock/cmd/lockbench/internal/rivals"
	"muxlock/cmd/lockbench/internal/units"
	"muxlock/cmd/lockbench/internal/view"
	"muxlock/internal/usage"
)

// Exit codes. Scripts rely on them.
const (
	exitOK          = usage.ExitOK
	exitRun         = usage.ExitRun
	exitUsage       = usage.ExitUsage
	exitMissed      = 3
	exitUnsafe      = 4
	exitNotValid    = 5
	exitLost        = 7
	exitPipe        = 141 // as a shell reports SIGPIPE
	exitInterrupted = 130
)

func exitCode(err error) (code int, quiet bool) {
	failed := exitRun
	if errors.Is(err, bench.ErrConfig) {
		failed = exitUsage
	}
	return usage.Code(err, exitUsage, failed)
}

// judge turns the document of a plan, and an error beside it, into the exit code; the worst verdict wins. A run that is not
// valid neither meets nor misses an objective. Reasons that are excused do not fail a run.
func judge(ctx context.Context, p *plan.Plan, doc *result.Document, runErr error, excused ...bench.ReasonKind) error {
	for _, r := range doc.Results {
		if found := violation(r.Safety); found != "" {
			return errors.Join(usage.Exitf(exitUnsafe, "SAFETY VIOLATION: %s %s", nameOf(r), found), runErr)
		}
	}
	if ctx.Err() != nil || runErr != nil {
		return interruptedOr(ctx, runErr)
	}
	if doc.Sweep != nil && len(doc.Sweep.Highest) > 0 { // rates that missed are part of the answer
		return unanswered(doc.Sweep.Highest)
	}
	for _, verdict := range []struct {
		code int
		word string
		why  func(*bench.Result) string // empty: it is not so
	}{
		{exitLost, "LOST VALIDITY", lost(p)},
		{exitNotValid, "not valid", func(r *bench.Result) string { return notValid(r, excused) }},
		{exitMissed, "missed", func(r *bench.Result) string {
			return objective(r, func(s bench.SLO) bool { return s.Reason == "" && !s.Pass })
		}},
		{exitNotValid, "not judged", func(r *bench.Result) string { return objective(r, func(s bench.SLO) bool { return s.Reason != "" }) }},
	} {
		for _, r := range doc.Results {
			if why := verdict.why(r); why != "" {
				return usage.Exitf(verdict.code, "%s: %s round %d: %s", verdict.word, nameOf(r), r.Round, why)
			}
		}
	}
	return nil
}

// nameOf returns the implementation and, in a sweep, the setting.
func nameOf(r *bench.Result) string { return result.Name(r.Impl, r.Setting) }

func violation(s bench.Safety) string {
	switch {
	case s.Overlaps > 0:
		return fmt.Sprintf("let %d holders overlap", s.Overlaps)
	case s.Violated():
		return fmt.Sprintf("gave %d locks a fence that is not larger than the one before", s.FenceViolations)
	}
	return ""
}

// lost returns a count of the held locks that lost their validity. It counts none if an objective is about that, and so judges
// it, or if a fault took something away and a majority of the masters stayed up. With chaos holds outlive their lease on
// purpose, and advice is about that. Rivals count only when they run by themselves; package view shows the others.
func lost(p *plan.Plan) func(*bench.Result) string {
	away := slices.ContainsFunc(p.Faults, func(f faults.Fault) bool { return f.Kind.TakesAway() })
	may := p.Command == "chaos" || p.Command == "advise" || away && p.MajorityStays() || slices.ContainsFunc(p.Objectives, result.Objective.OfLoss)
	return func(r *bench.Result) string {
		impl, _ := rivals.Find(r.Impl)
		if may || r.Totals.Outlived == 0 || !impl.Ours && p.Command != "run" {
			return ""
		}
		return fmt.Sprintf("%s of %s locks were not valid any more while they were held (--slo 'outlived_rate<1%%' says how many may be)",
			units.Number(r.Totals.Outlived), units.Number(r.Totals.Acquired))
	}
}

// notValid returns the reasons but for the excused ones. Embedded masters make figures invalid, but do not fail the run. Their
// figures are never exact: there, too few operations or a lagging generator are no failure either.
func notValid(r *bench.Result, excused []bench.ReasonKind) string {
	left := r.Valid.But(excused...)
	if r.Valid.Has(result.ReasonEmbedded) {
		left = left.But(result.ReasonEmbedded, bench.ReasonFew, bench.ReasonGenerator)
	}
	if left.OK {
		return ""
	}
	return left.String()
}

// objective returns the first objective that is so.
func objective(r *bench.Result, is func(bench.SLO) bool) string {
	if i := slices.IndexFunc(r.SLO, is); i >= 0 {
		s := r.SLO[i]
		return s.Text + ": " + cmp.Or(s.Reason, units.Median(s.Unit, []units.Value{{V: s.Value, AtLeast: s.AtLeast}}))
	}
	return ""
}

// unanswered names the first search for the highest rate that has no answer.
func unanswered(all []result.HighestRate) error {
	for _, failed := range []struct {
		outcome result.Outcome
		code    int
		text    string
	}{{result.RateSpoiled, exitNotValid, "not valid"}, {result.RateMissed, exitMissed, "missed"}} {
		for _, found := range all {
			if found.Outcome() == failed.outcome {
				return usage.Exitf(failed.code, "%s: %s", failed.text, view.Highest(found))
			}
		}
	}
	return nil
}

// worst puts a safety violation before a failure to write the result, and that failure before
// all other verdicts.
func worst(judged, writing error) error {
	if code, _ := exitCode(judged); code == exitUnsafe {
		return errors.Join(judged, writing)
	}
	return errors.Join(writing, judged)
}

// interruptedOr puts the user's interrupt before the errors that follow from it.
func interruptedOr(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return usage.Exitf(exitInterrupted, "interrupted")
	}
	return err
}
