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
	if err := grave(ctx, doc.Results, runErr); err != nil {
		return err
	}
	if doc.Sweep != nil && len(doc.Sweep.Highest) > 0 { // rates that missed are part of the answer
		return unanswered(doc.Sweep.Highest)
	}
	return cmp.Or(lost(p, doc.Results), notValid(doc.Results, excused...), judgeObjectives(doc.Results))
}

// nameOf returns the implementation and, in a sweep, the setting.
func nameOf(r *bench.Result) string { return result.Name(r.Impl, r.Setting) }

// grave returns the verdicts that outweigh all others.
func grave(ctx context.Context, results []*bench.Result, runErr error) error {
	for _, r := range results {
		found := fmt.Sprintf("let %d holders overlap", r.Safety.Overlaps)
		if r.Safety.Overlaps == 0 {
			found = fmt.Sprintf("gave %d locks a fence that is not larger than the one before", r.Safety.FenceViolations)
		}
		if r.Safety.Violated() {
			return errors.Join(usage.Exitf(exitUnsafe, "SAFETY VIOLATION: %s %s", nameOf(r), found), runErr)
		}
	}
	if ctx.Err() != nil || runErr != nil {
		return interruptedOr(ctx, runErr)
	}
	return nil
}

// lost names the first run in which held locks lost their validity. It returns nil if an
// objective is about that, and so judges it, or if a fault took something away and a majority
// of the masters stayed up. With chaos holds outlive their lease on purpose, and advice is about that. Rivals count only when they run by themselves; package view shows
// the others.
func lost(p *plan.Plan, results []*bench.Result) error {
	away := slices.ContainsFunc(p.Faults, func(f faults.Fault) bool { return f.Kind.TakesAway() })
	if p.Command == "chaos" || p.Command == "advise" || away && p.MajorityStays() || slices.ContainsFunc(p.Objectives, result.Objective.OfLoss) {
		return nil
	}
	for _, r := range results {
		n, all := r.Totals.Outlived, r.Totals.Acquired
		impl, _ := rivals.Find(r.Impl)
		if n > 0 && (impl.Ours || p.Command == "run") {
			return usage.Exitf(exitLost, "LOST VALIDITY: %s round %d: %s of %s locks were not valid any more while they were held (--slo 'outlived_rate<1%%' says how many may be)",
				nameOf(r), r.Round, units.Number(n), units.Number(all))
		}
	}
	return nil
}

// notValid names the first run that is not valid for other reasons than the excused ones.
// Embedded masters make figures invalid, but do not fail the run. Their figures are never exact:
// there, too few operations or a lagging generator are no failure either.
func notValid(results []*bench.Result, excused ...bench.ReasonKind) error {
	for _, r := range results {
		left := r.Valid.But(excused...)
		if r.Valid.Has(result.ReasonEmbedded) {
			left = left.But(result.ReasonEmbedded, bench.ReasonFew, bench.ReasonGenerator)
		}
		if !left.OK {
			return usage.Exitf(exitNotValid, "not valid: %s round %d: %s", nameOf(r), r.Round, left)
		}
	}
	return nil
}

// judgeObjectives puts a missed objective before one that cannot be judged.
func judgeObjectives(results []*bench.Result) error {
	var unjudged error
	for _, r := range results {
		for _, s := range r.SLO {
			switch {
			case s.Reason == "" && !s.Pass:
				return usage.Exitf(exitMissed, "missed: %s round %d: %s: %s", nameOf(r), r.Round, s.Text, units.Median(s.Unit, []units.Value{{V: s.Value, AtLeast: s.AtLeast}}))
			case s.Reason != "" && unjudged == nil:
				unjudged = usage.Exitf(exitNotValid, "not judged: %s round %d: %s: %s", nameOf(r), r.Round, s.Text, s.Reason)
			}
		}
	}
	return unjudged
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
