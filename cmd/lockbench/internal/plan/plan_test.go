package plan

import (
	"cmp"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"muxlock/internal/testing/golden"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"
)

var defaultImpls = map[string]string{"run": "muxlock", "compare": "muxlock,noop,raw", "sweep": "muxlock", "masters": "muxlock"}

// planOf returns the plan of a command line. Its standard input is that file.
func planOf(t *testing.T, line, stdin string) (p *Plan, err error) {
	var f Flags
	fs, command := pflag.NewFlagSet("", pflag.ContinueOnError), strings.Fields(line)[1]
	f.Declare(fs, defaultImpls[command], 1, "text")
	values := fs.String("param", "", "")
	require.NoError(t, fs.Parse(wordsOf(line)), line)
	f.Seed = cmp.Or(f.Seed, 5) // not a random one
	defer func(was *os.File) { os.Stdin = was }(os.Stdin)
	os.Stdin, err = os.Open(stdin)
	require.NoError(t, err)
	switch command {
	case "compare":
		return f.Loads(command)
	case "masters":
		return f.MastersAlone()
	case "sweep":
		param, err := ParseParam(*values)
		if err != nil {
			return nil, err
		}
		return f.Sweep(command, param)
	}
	return f.Plan(command)
}

// fieldsOf returns a line for each field of a plan, and of its options for implementations.
func fieldsOf(p *Plan) (lines []string) {
	for _, of := range []any{*p, p.Options(nil, p.Masters.Target)} {
		v := reflect.ValueOf(of)
		for _, f := range reflect.VisibleFields(v.Type()) {
			if !f.Anonymous && f.Name != "Each" {
				lines = append(lines, strings.TrimSpace(fmt.Sprintf("%s: %+v", f.Name, v.FieldByIndex(f.Index))))
			}
		}
	}
	return append(lines, fmt.Sprint("MajorityStays: ", p.MajorityStays()), fmt.Sprint("Outages(): ", p.Outages()))
}

// requireTheSame returns the line that repeats a plan, which makes the same plan. So does --config.
func requireTheSame(t *testing.T, p *Plan) string {
	doc, flags := documentOf(p, defaultImpls[p.Command])
	line, kept := Again(doc, flags), written(t, doc)
	for _, line := range []string{line, "lockbench " + p.Command + " --config -"} {
		again, err := planOf(t, line, kept)
		require.NoError(t, err, line)
		require.Len(t, again.All(), len(p.All()), line)
		for i, one := range p.All() {
			require.Equal(t, fmt.Sprintf("%+v", one.Settings), fmt.Sprintf("%+v", again.All()[i].Settings), line)
		}
	}
	return line
}

// testdata/plans.txt has command lines. Below each is what its plans have that the first plan of all has not, and the
// line that repeats it; or why it is refused.
func TestACommandLineHasThePlansThatAreWrittenBelowIt(t *testing.T) {
	var first []string
	golden.Answers(t, "plans.txt", func(line string) (got []string) {
		p, err := planOf(t, line, "testdata/config.json")
		if err != nil {
			return []string{"refused: " + err.Error()}
		}
		for _, one := range p.All() {
			got = append(got, map[bool]string{true: "the plan", false: "another"}[one == p])
			fields := fieldsOf(one)
			for _, field := range fields {
				if !slices.Contains(first, field) {
					got = append(got, "  "+field)
				}
			}
			if first == nil {
				first = fields
			}
		}
		if p.Command == "run" || p.Command == "compare" {
			got = append(got, "again: "+requireTheSame(t, p))
		}
		return got
	})
}

func TestTheFlagsOfALoadAreDescribed(t *testing.T) {
	f, copied := runFlags(t), pflag.NewFlagSet("", pflag.ContinueOnError)
	f.flags.VisitAll(func(flag *pflag.Flag) { Borrow(copied, f.flags, flag.Name) })
	Preset(copied, map[string]string{"duration": "3s"})
	golden.Equal(t, "flags.txt", copied.FlagUsagesWrapped(100))
	require.Panics(t, func() { Preset(copied, map[string]string{"workers": "many"}) }, "a default that its flag refuses")
}

func TestPassingADefaultChangesNothing(t *testing.T) {
	want := planned(t, "--embedded", "1", "--seed", "1")
	runFlags(t).flags.VisitAll(func(flag *pflag.Flag) {
		if _, list := flag.Value.(pflag.SliceValue); list || flag.DefValue == "" || slices.Contains([]string{"embedded", "local", "masters", "new-masters", "arrivals", "rate", "seed"}, flag.Name) {
			return // given, they mean something
		}
		p := planned(t, "--embedded", "1", "--seed", "1", "--"+flag.Name+"="+flag.DefValue)
		require.Equal(t, want.Config, p.Config, flag.Name)
		require.Equal(t, want.Engine, p.Engine, flag.Name)
	})
}
