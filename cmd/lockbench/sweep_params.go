package main

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"muxlock/bench"
	"muxlock/cmd/lockbench/internal/result"
)

// maxSettings is how many values --param may have.
const maxSettings = 200

// swept is the flags that --param takes, and of which unit their numbers are.
var swept = map[string]string{
	"workers": "", "procs": "", "keys": "", "rate": "", "masters": "", "dist": "",
	"hold": bench.UnitNs, "think": bench.UnitNs, "ttl": bench.UnitNs, "wait": bench.UnitNs,
}

// parseParam reads NAME=VALUES: values apart by commas, each as the flag takes it, or
// FROM..TOxFACTOR for FROM, FROM*FACTOR and so on up to TO.
func parseParam(s string) (result.SweepParam, error) {
	name, list, ok := strings.Cut(s, "=")
	unit, known := swept[name]
	if !ok || list == "" {
		return result.SweepParam{}, usagef("--param %q is not NAME=VALUES, such as workers=1,8,64 or workers=1..512x2", s)
	}
	if !known {
		return result.SweepParam{}, usagef("--param %q: there are %s", name, strings.Join(slices.Sorted(maps.Keys(swept)), ", "))
	}
	p := result.SweepParam{Name: name, Unit: unit}
	for text := range strings.SplitSeq(list, ",") {
		texts, err := expand(text, unit)
		if err != nil {
			return p, usagef("--param %s: %w", s, err)
		}
		for _, text := range texts {
			if slices.ContainsFunc(p.Values, func(v result.SweepValue) bool { return v.Text == text }) {
				return p, usagef("--param %s has %s twice", s, text)
			}
			if len(p.Values) == maxSettings {
				return p, usagef("--param %s has more than %d values", name, maxSettings)
			}
			p.Values = append(p.Values, result.SweepValue{Text: text, Number: axis(text, unit)})
		}
	}
	return p, nil
}

// expand is a value, or those of a range.
func expand(text, unit string) ([]string, error) {
	from, rest, ok := strings.Cut(text, "..")
	if !ok {
		return []string{text}, nil
	}
	to, by, ok := strings.Cut(rest, "x")
	first, last := axis(from, unit), axis(to, unit)
	factor, err := strconv.ParseFloat(by, 64)
	if !ok || first == nil || last == nil || err != nil || !(*first > 0) || !(*last >= *first) || !(factor > 1) || math.IsInf(factor, 0) {
		return nil, fmt.Errorf("%q is not FROM..TOxFACTOR, such as 1..512x2 or 1ms..1sx10", text)
	}
	var texts []string
	for i := 0; len(texts) <= maxSettings; i++ {
		v := *first * math.Pow(factor, float64(i))
		if v > *last*(1+1e-9) {
			break
		}
		if unit == bench.UnitNs {
			texts = append(texts, time.Duration(math.Round(v)).String())
		} else if t := strconv.FormatFloat(math.Round(v), 'f', -1, 64); !slices.Contains(texts, t) { // 1..10x1.5 would begin 1, 2, 2
			texts = append(texts, t)
		}
	}
	return texts, nil
}

// axis is where a value stands on an axis; nil for one that is no number.
func axis(text, unit string) *float64 {
	var v float64
	if unit == bench.UnitNs {
		d, err := time.ParseDuration(text)
		if err != nil {
			return nil
		}
		v = float64(d)
	} else {
		var r rate
		if r.Set(text) != nil {
			return nil
		}
		v = float64(r)
	}
	if math.IsInf(v, 0) || math.IsNaN(v) {
		return nil
	}
	return &v
}

// plans checks the command line anew for each value, as if it had been given by its flag,
// so that a sweep can do what a run can and refuses what a run refuses. All have one seed.
func (f *flags) plans(cmd *cobra.Command, param result.SweepParam) (plans []*plan, err error) {
	for _, v := range param.Values {
		if err := cmd.Flags().Set(flagOf(param.Name, cmd), v.Text); err != nil {
			return nil, usagef("--param %s=%s: %w", param.Name, v.Text, err)
		}
		p, err := f.plan(cmd)
		if err != nil {
			return nil, fmt.Errorf("--param %s=%s: %w", param.Name, v.Text, err)
		}
		p.setting = map[string]string{param.Name: v.Text}
		plans = append(plans, p)
	}
	return plans, nil
}

// flagOf is the flag that a param sets: how many masters there are is set by
// --local or --embedded.
func flagOf(param string, cmd *cobra.Command) string {
	switch {
	case param != "masters":
		return param
	case cmd.Flags().Changed("embedded"):
		return "embedded"
	}
	return "local"
}
