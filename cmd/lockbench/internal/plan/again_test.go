package plan

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"

	"muxlock/cmd/lockbench/internal/result"
	"muxlock/internal/usage"
)

// declared returns the parsed flags of a load.
func declared(t *testing.T, impls string, args ...string) *Flags {
	t.Helper()
	var f Flags
	f.Declare(pflag.NewFlagSet("", pflag.ContinueOnError), impls, 1, "text")
	require.NoError(t, f.flags.Parse(args))
	return &f
}

func runFlags(t *testing.T, args ...string) *Flags {
	t.Helper()
	return declared(t, "muxlock", args...)
}

// planned returns the plan of lockbench run.
func planned(t *testing.T, args ...string) *Plan {
	t.Helper()
	p, err := runFlags(t, args...).Plan("run")
	require.NoError(t, err, args)
	return p
}

// documentOf is what such a plan leaves.
func documentOf(p *Plan, impls string) (result.Document, *pflag.FlagSet) {
	var f Flags
	fs := pflag.NewFlagSet("", pflag.ContinueOnError)
	f.Declare(fs, impls, 1, "text")
	f.Settings = p.Settings
	c := result.Config{Settings: p.Settings, Command: p.Command, Target: p.Masters.Target, Masters: make([]string, p.Masters.Count)}
	for i := range c.Masters {
		c.Masters[i] = fmt.Sprintf("m:%d", i+1)
	}
	for _, one := range p.Each {
		c.Loads = append(c.Loads, result.Load{Name: result.LoadName(one.Setting[result.LoadSetting]), Config: one.Config, Impls: one.Impls})
	}
	return result.NewDocument(c, nil), fs
}

// written returns the name of a file with that document.
func written(t *testing.T, doc result.Document) string {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, result.JSON(&b, doc))
	name := filepath.Join(t.TempDir(), "r.json")
	require.NoError(t, os.WriteFile(name, b.Bytes(), 0o600))
	return name
}

var shellWord = regexp.MustCompile(`'[^']*'|\S+`)

// wordsOf returns the arguments of a command line.
func wordsOf(line string) []string {
	words := shellWord.FindAllString(line, -1)
	for i := range words {
		words[i] = strings.Trim(words[i], "'")
	}
	return words[2:]
}

func TestTheCommandThatRepeatsARunNamesMastersWithoutPasswords(t *testing.T) {
	doc, fs := documentOf(planned(t, "--local", "1"), "muxlock")
	doc.Config.Target, doc.Config.Masters, doc.Config.MastersRedacted = result.Given, []string{"redis://h:1"}, true
	require.Contains(t, Again(doc, fs), "--masters redis://h:1")
	require.Equal(t, `'it'\''s'`, quoted("it's"))
}

func TestEveryFlagOfALoadIsKept(t *testing.T) {
	f := runFlags(t)
	f.flags.VisitAll(func(flag *pflag.Flag) {
		h := HeadingOf(flag)
		_ = slices.ContainsFunc([]string{"7", "7s", "true", "try", "uniform"}, func(text string) bool { return flag.Value.Set(text) == nil })
		kept := h != OfOutput && flag.Name != "new-masters" && !slices.Contains(targetFlags, flag.Name)
		line := Again(result.Document{Config: result.Config{Settings: f.Settings}}, f.flags)
		require.Equal(t, kept, strings.Contains(line, "--"+flag.Name), "--%s: %s", flag.Name, line)
		another := runFlags(t)
		another.Settings = f.Settings
		require.Equal(t, line, Again(result.Document{Config: result.Config{Settings: f.Settings}}, another.flags), "the settings have its value")
	})
}

func TestFlagsBesideAConfigOverrideWhatGoesWithThem(t *testing.T) {
	load := strings.Fields("--embedded 1 --impl redislock --workers 2 --duration 1s --ttl 1s --seed 1 --slo jain>0.1")
	doc, _ := documentOf(planned(t, append(load, "--keys", "7", "--dist", "zipf:1")...), "muxlock")
	text, err := os.ReadFile(written(t, doc))
	require.NoError(t, err)
	zipf := string(text)
	for _, c := range []struct{ file, args, dist, keys, error string }{
		{zipf, "", "zipf:1", "7", ""},
		{zipf, "--keys 5", "zipf:1", "5", ""},
		{zipf, "--dist uniform", "uniform", "7", ""},
		{zipf, "--dist own", "own", "0", ""},
		{strings.Replace(zipf, `"redislock"`, `"unheard"`, 1), "", "", "", "--impl"},
		{strings.Replace(zipf, `"embedded"`, `"elsewhere"`, 1), "", "", "", "elsewhere"},
		{strings.Replace(zipf, `"embedded"`, `"given"`, 1), "", "zipf:1", "7", ""},
		{strings.Replace(zipf, `"target": "embedded"`, `"target": "given", "masters_redacted": true`, 1), "", "", "", "name its masters again with --masters (m:1)"},
		{strings.Replace(zipf, `"schema_version": 3`, `"schema_version": 2`, 1), "", "", "", "was made by another lockbench: schema 2, this one reads 3"},
	} {
		name := filepath.Join(t.TempDir(), "r.json")
		require.NoError(t, os.WriteFile(name, []byte(c.file), 0o644))
		p, err := runFlags(t, append(strings.Fields(c.args), "--config", name, "--slo", "jain>0.2")...).Plan("run")
		if c.error != "" {
			require.ErrorContains(t, err, c.error)
			require.ErrorAs(t, err, new(usage.Error))
			continue
		}
		require.NoError(t, err)
		require.Equal(t, []string{c.dist, c.keys}, []string{p.Dist.String(), fmt.Sprint(p.Keys)}, c.args)
		require.Equal(t, []string{"1s", "[redislock]", "[jain>0.2 failure_rate<=1%]"}, []string{p.Duration.String(), fmt.Sprint(p.Impls), fmt.Sprint(p.SLO)})
	}
}

// A sample file may have changed since: the document has the samples.
func TestTheSamplesOfAConfigAreThoseOfTheDocument(t *testing.T) {
	samples := filepath.Join(t.TempDir(), "holds")
	require.NoError(t, os.WriteFile(samples, []byte("1ms\n3ms\n"), 0o600))
	p := planned(t, "--embedded", "1", "--hold", "file:"+samples)
	doc, _ := documentOf(p, "muxlock")
	name := written(t, doc)
	require.NoError(t, os.Remove(samples))
	require.Equal(t, p.Hold.Samples(), planned(t, "--config", name).Hold.Samples())
}
