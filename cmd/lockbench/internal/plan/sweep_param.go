package plan

import (
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"muxlock/bench"
	"muxlock/cmd/lockbench/internal/result"
	"muxlock/internal/usage"
)

// maxSettings limits the values of --param.
const maxSettings = 200

// swept has the flags that --param takes, with the unit of their numbers.
var swept = map[string]string{
	"workers": "", "procs": "", "keys": "", "rate": "", "masters": "", "groups": "", "dist": "",
	"hold": bench.UnitNs, "think": bench.UnitNs, "ttl": bench.UnitNs, "wait": bench.UnitNs,
}

// ParseParam parses NAME=VALUES. Commas separate values, see oneValue; each is a value of the flag, or
// FROM..TOxFACTOR for FROM, FROM*FACTOR and so on up to TO.
func ParseParam(s string) (result.SweepParam, error) {
	name, list, ok := strings.Cut(s, "=")
	unit, known := swept[name]
	if !ok || list == "" {
		return result.SweepParam{}, usage.Errorf("--param %q is not NAME=VALUES, such as workers=1,8,64 or workers=1..512x2", s)
	}
	if !known {
		return result.SweepParam{}, usage.Errorf("--param %q: there are %s", name, strings.Join(slices.Sorted(maps.Keys(swept)), ", "))
	}
	p := result.SweepParam{Name: name, Unit: unit}
	for _, text := range oneValue.FindAllString(list, -1) {
		texts, err := expand(text, unit, name != "rate")
		if err != nil {
			return p, usage.Errorf("--param %s: %w", s, err)
		}
		for _, text := range texts {
			if slices.ContainsFunc(p.Values, func(v result.SweepValue) bool { return v.Text == text }) {
				return p, usage.Errorf("--param %s has %s twice", s, text)
			}
			if len(p.Values) == maxSettings {
				return p, usage.Errorf("--param %s has more than %d values", name, maxSettings)
			}
			p.Values = append(p.Values, result.SweepValue{Text: text, Number: axis(text, unit)})
		}
	}
	return p, nil
}

// oneValue matches a value in a list. The comma within lognormal:1ms,0.5 or hotspot:0.1,0.9 does not end it.
var oneValue = regexp.MustCompile(`((lognormal|hotspot)[:(][^,]*,)?[^,]*`)

// expand returns a single value, or the values of a range, which are rounded if the flag is a whole number.
func expand(text, unit string, whole bool) ([]string, error) {
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
		if whole {
			v = math.Round(v)
		}
		if unit == bench.UnitNs {
			texts = append(texts, time.Duration(v).String())
		} else if t := strconv.FormatFloat(v, 'g', 12, 64); !slices.Contains(texts, t) { // 1..10x1.5 would begin 1, 2, 2
			texts = append(texts, t)
		}
	}
	return texts, nil
}

// axis returns the place of a value on an axis; nil if it is no number.
func axis(text, unit string) *float64 {
	v, err := result.ParseNumber(text)
	if unit == bench.UnitNs {
		var d time.Duration
		d, err = time.ParseDuration(text)
		v = float64(d)
	}
	if err != nil || math.IsInf(v, 0) || math.IsNaN(v) {
		return nil
	}
	return &v
}

// Sweep checks the command line anew for each value of a param, as if the flag had been given.
// So a sweep can do, and refuses, the same as a run. All plans have one seed. Sweep returns one with the most masters, which
// all can share, with all of them in Each.
func (f *Flags) Sweep(command string, param result.SweepParam) (*Plan, error) {
	flag := param.Name
	if flag == "masters" { // the param is their number
		flag = "local"
		if f.set("embedded") {
			flag = "embedded"
		}
	}
	for _, name := range []string{param.Name, flag} {
		if name != "embedded" && f.set(name) {
			return nil, usage.Errorf("--param %s and --%s exclude each other", param.Name, name)
		}
	}
	var plans []*Plan
	for _, v := range param.Values {
		if err := f.flags.Set(flag, v.Text); err != nil {
			return nil, usage.Errorf("--param %s=%s: %w", param.Name, v.Text, err)
		}
		p, err := f.Plan(command)
		if err != nil {
			return nil, fmt.Errorf("--param %s=%s: %w", param.Name, v.Text, err)
		}
		p.Setting = map[string]string{param.Name: v.Text}
		plans = append(plans, p)
	}
	most := slices.MaxFunc(plans, func(a, b *Plan) int { return a.Masters.Count - b.Masters.Count })
	most.Each = plans
	return most, nil
}
