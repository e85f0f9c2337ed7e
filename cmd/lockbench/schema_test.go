package main

import (
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"
)

func TestWhatIsPrintedFollowsThePrintedSchema(t *testing.T) {
	t.Parallel()
	text, _, code := lockbench(t, "schema")
	require.Zero(t, code)
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	require.NoError(t, err)
	c := jsonschema.NewCompiler()
	require.NoError(t, c.AddResource("schema.json", doc))
	schema, err := c.Compile("schema.json")
	require.NoError(t, err)
	check := func(document string) error {
		v, err := jsonschema.UnmarshalJSON(strings.NewReader(document))
		require.NoError(t, err)
		return schema.Validate(v)
	}
	for _, line := range []string{
		quick + " --slo jain>0",
		"run --embedded 3 --keys 3 --hold 1ms --workers 4 --duration 100ms --warmup 10ms",
		"run --embedded 3 --op extend --workers 4 --duration 100ms --warmup 10ms",
		"run --embedded 3 --op hold --keys 20 --workers 4 --duration 100ms --warmup 10ms",
		"compare --embedded 1 --impl setnx,noop --workers 2 --rounds 4 --duration 50ms --warmup 10ms",
		"advise --embedded 3 --duration 1s --hold 10ms",
	} {
		stdout, stderr, _ := lockbench(t, append(words(line), "-o", "json")...)
		require.NoError(t, check(stdout), "%s: %s", line, stderr)
		require.Error(t, check(strings.Replace(stdout, `"results"`, `"outcomes"`, 1)), "the check can fail")
		require.Error(t, check(strings.Replace(stdout, `"unit": "ns"`, `"unit": 1`, 1)), "the check can fail")
	}
}
