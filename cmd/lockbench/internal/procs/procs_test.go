package procs

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"muxlock/bench"
	"muxlock/internal/child"
	"muxlock/internal/testing/redistest"
)

// The second process is killed before it reports its second second, and another takes its place.
func TestProgressHasTheSecondsOfAKilledProcess(t *testing.T) {
	var shown []bench.Point
	g := newProgress(2, bench.Config{Warmup: time.Second, Progress: func(p bench.Progress) { shown = append(shown, p.Point) }})
	report := func(number int, warmup bool, seconds, cycles int64) {
		g.add(number, bench.Progress{
			Warmup: warmup, Elapsed: time.Duration(seconds) * time.Second, Point: bench.Point{TS: float64(seconds), Cycles: cycles, P99Ns: cycles},
		})
	}
	report(0, true, 0, 0)
	require.Empty(t, shown, "the other may still come")
	report(1, true, 0, 0)
	report(0, true, 1, 10)
	report(1, true, 1, 20)
	report(0, false, 1, 30)
	report(1, false, 1, 5)
	report(0, false, 2, 7)
	report(0, false, 3, 8)
	require.Len(t, shown, 3, "the second may still come")
	report(1, false, 3, 9)
	g.add(0, bench.Progress{Elapsed: 3100 * time.Millisecond}) // the end
	g.add(1, bench.Progress{Elapsed: 3200 * time.Millisecond})
	require.Equal(t, []bench.Point{{}, {TS: 1, Cycles: 30, P99Ns: 20}, {TS: 1, Cycles: 35, P99Ns: 30}, {TS: 2, Cycles: 7, P99Ns: 7}, {TS: 3, Cycles: 17, P99Ns: 9}}, shown)
}

func TestAProcessThatEndedWithTheRunIsNoFailedFault(t *testing.T) {
	redistest.NeedProcess(t)
	cmd := exec.Command("true")
	require.NoError(t, cmd.Run())
	ctx, end := context.WithCancel(t.Context())
	r := &Runner{ctx: ctx, procs: []*process{{Talker: &child.Talker{Cmd: cmd}}}}
	require.ErrorIs(t, r.Pause(0), os.ErrProcessDone)
	require.ErrorIs(t, r.Resume(0), os.ErrProcessDone)
	end()
	require.NoError(t, r.Pause(0))
	require.NoError(t, r.Resume(0))
}

func TestAnErrorNamesTheProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for reply, want := range map[string]string{
			`{"Error":"no"}`: "process 2: no", "": "process 2: EOF", `{}`: "",
			`{"Invalid":{"Field":"ttl","Reason":"is odd"}}`: "process 2: muxlock: invalid: ttl is odd",
		} {
			p := &process{&child.Talker{}, json.NewDecoder(strings.NewReader(reply)), 1}
			_, err := p.next()
			require.Equal(t, want, strings.TrimPrefix(fmt.Sprint(err), "<nil>"))
		}
	})
}

func TestAChildAnswersWhetherItOpenedAndEndsWithItsInput(t *testing.T) {
	for in, want := range map[string]string{
		"":                 " workers is for lockbench alone: EOF",
		`{"Impl":"noop"}`:  `{"Error":"","Invalid":null,"Progress":null,"Part":null} <nil>`,
		`{"Impl":"noop"}!`: `{"Error":"","Invalid":null,"Progress":null,"Part":null} invalid character '!' looking for beginning of value`,
		`{"Impl":"muxlock"}`: `{"Error":"muxlock: invalid: Masters is empty; at least one address is needed",` +
			`"Invalid":{"Field":"Masters","Reason":"is empty; at least one address is needed"},"Progress":null,"Part":null} <nil>`,
	} {
		var out strings.Builder
		err := Serve(t.Context(), strings.NewReader(in), &out)
		require.Equal(t, want, fmt.Sprint(strings.TrimSpace(out.String()), " ", err))
	}
}
