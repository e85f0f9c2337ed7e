package plan

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write testdata anew")

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
	return lines
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

// golden compares a text with that of a file of testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		require.NoError(t, os.WriteFile(file, []byte(got), 0o644))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, string(want), got, "go test -update makes it anew")
}

// testdata/plans.txt has command lines. Below each is what its plans have that the first plan of all has not, and the
// line that repeats it; or why it is refused.
func TestACommandLineHasThePlansThatAreWrittenBelowIt(t *testing.T) {
	text, err := os.ReadFile("testdata/plans.txt")
	require.NoError(t, err)
	var got, first []string
	for _, line := range strings.Split(string(text), "\n") {
		if strings.HasPrefix(line, "  ") {
			continue
		}
		got = append(got, line)
		if !strings.HasPrefix(line, "lockbench ") {
			continue
		}
		p, err := planOf(t, line, "testdata/config.json")
		if err != nil {
			got = append(got, "  refused: "+err.Error())
			continue
		}
		for _, one := range p.All() {
			got = append(got, map[bool]string{true: "  the plan", false: "  another"}[one == p])
			for _, field := range fieldsOf(one) {
				if !slices.Contains(first, field) {
					got = append(got, "    "+field)
				}
			}
			if first == nil {
				first = fieldsOf(one)
			}
		}
		if p.Command == "run" || p.Command == "compare" {
			got = append(got, "  again: "+requireTheSame(t, p))
		}
	}
	golden(t, "plans.txt", strings.Join(got, "\n"))
}

func TestTheFlagsOfALoadAreDescribed(t *testing.T) {
	f, copied := runFlags(t), pflag.NewFlagSet("", pflag.ContinueOnError)
	f.flags.VisitAll(func(flag *pflag.Flag) { Borrow(copied, f.flags, flag.Name) })
	golden(t, "flags.txt", copied.FlagUsagesWrapped(100))
	require.Panics(t, func() { Preset(copied, map[string]string{"workers": "many"}) }, "a default that its flag refuses")
}
