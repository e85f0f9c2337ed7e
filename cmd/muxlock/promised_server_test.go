package main

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// CHANGELOG promises these codes and fields: scripts rely on them.

func TestExitCodesAreTheirNumbers(t *testing.T) {
	for name, c := range map[string]struct{ promised, code int }{
		"ok": {0, exitOK}, "run": {1, exitRun}, "usage": {2, exitUsage}, "free": {3, exitFree}, "split": {4, exitSplit}, "refused": {121, exitRefused}, "timeout": {122, exitTimeout}, "taken": {123, exitTaken},
		"lost": {124, exitLost}, "ours": {125, exitOurs}, "cannot run": {126, exitCannotRun}, "not found": {127, exitNotFound}, "signal": {128, exitSignal},
	} {
		require.Equal(t, c.promised, c.code, name)
	}
}

func TestJSONKeepsItsFields(t *testing.T) {
	t.Parallel()
	s := newSet(t)
	s.hold(t, "name")
	_, err := s.engine(t).AcquirePermit(t.Context(), "name", 1, 0)
	require.NoError(t, err)
	for _, c := range []struct{ command, fields string }{
		{"status name", "schema_version name verdict holder left_ms masters masters.address masters.state masters.value masters.holder masters.left_ms masters.error masters.lacks masters.votes masters.votes_in_ms masters.no_vote permits permits.name permits.slot permits.verdict permits.on permits.holder permits.left_ms"},
		{"ls", "schema_version locks locks.name locks.verdict locks.on locks.holder locks.left_ms permits permits.name permits.slot permits.verdict permits.on permits.holder permits.left_ms masters scanned more"},
		{"masters status", "schema_version tool tool.name tool.version tool.go ok largest_fence masters masters.address masters.set masters.generation masters.max_ttl_ns " +
			"masters.members masters.admitted masters.state masters.do"},
		{"doctor --for 100ms", "schema_version tool tool.name tool.version tool.go worst findings findings.level findings.check findings.masters findings.text findings.todo " +
			"per_master per_master.addr per_master.rtt per_master.rtt.unit per_master.rtt.count per_master.rtt.min per_master.rtt.mean per_master.rtt.max per_master.rtt.p per_master.rtt.p.50 " +
			"per_master.rtt.p.90 per_master.rtt.p.99 per_master.lost per_master.down_share"},
		{"release --force --yes name", "schema_version name holder values left_ms deleted masters"},
	} {
		stdout, stderr, _ := s.run(t, c.command+" -o json")
		var doc map[string]any
		require.NoError(t, json.Unmarshal([]byte(stdout), &doc), stderr)
		require.EqualValues(t, 1, doc["schema_version"])
		has := make(map[string]bool)
		fields("", doc, has)
		require.Subset(t, slices.Collect(maps.Keys(has)), strings.Fields(c.fields), c.command)
	}
}

// fields puts the paths of all fields of a value of JSON into has.
func fields(at string, v any, has map[string]bool) {
	switch v := v.(type) {
	case map[string]any:
		for name, v := range v {
			has[at+name] = true
			fields(at+name+".", v, has)
		}
	case []any:
		for _, v := range v {
			fields(at, v, has)
		}
	}
}
