package metrics

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"muxlock/engine"
)

func TestAFailedCallCountsAsWhatItsLastAttemptEndedWith(t *testing.T) {
	causes := []engine.MasterError{{Master: "a:1", Err: engine.ErrDenied}, {Master: "b:1", Err: context.DeadlineExceeded}}
	for _, c := range []struct {
		err  error
		want string
	}{
		{&engine.AttemptError{Kind: engine.ErrTaken, Causes: causes}, "taken"},
		{&engine.AttemptError{Kind: engine.ErrNoQuorum, Causes: causes}, "no_quorum"},
		{&engine.AttemptError{Kind: engine.ErrExpired, Causes: causes}, "expired"},
		{&engine.AttemptError{Kind: engine.ErrDenied}, "denied"},
		{errors.Join(&engine.AttemptError{Kind: engine.ErrTaken}, context.Canceled), "taken"},
		{fmt.Errorf("here: %w", engine.ErrTaken), "taken"},
		{engine.ErrOverloaded, "overloaded"},
		{engine.ErrClosed, "closed"},
		{context.Canceled, "ctx_ended"},
		{context.DeadlineExceeded, "ctx_ended"},
		{errors.New("what no version has returned so far"), "other"},
	} {
		require.Equal(t, c.want, Result(c.err), c.err)
	}
}

// recorded is what an Observer records, by labels.
func recorded(class func(string) string) (*engine.Observer, map[string]time.Duration) {
	all := make(map[string]time.Duration)
	add := func(s float64, labels ...string) { all[fmt.Sprint(labels)] += time.Duration(s * float64(time.Second)) }
	return Observer(class,
		func(s float64, result string, class ...string) { add(s, append([]string{"wait", result}, class...)...) },
		func(s float64, class ...string) { add(s, append([]string{"hold"}, class...)...) },
		func(s float64, class ...string) { add(s, append([]string{"release"}, class...)...) },
	), all
}

func TestWaitsHoldsAndReleasesAreRecordedInSeconds(t *testing.T) {
	o, all := recorded(nil)
	o.Acquired("name", time.Second, 1)
	o.NotAcquired("name", 2*time.Second, 1, engine.ErrTaken)
	o.Released("name", 3*time.Second, false, nil)
	o.ReleaseTook("name", 4*time.Second, nil)
	require.Equal(t, map[string]time.Duration{"[wait acquired]": time.Second, "[wait taken]": 2 * time.Second, "[hold]": 3 * time.Second, "[release]": 4 * time.Second}, all)
}

func TestClassesAreBoundedAndPrintable(t *testing.T) {
	o, all := recorded(func(name string) string { return name })
	for i := range 3 * MaxClasses {
		o.Acquired(strconv.Itoa(i), time.Second, 1)
	}
	o.Acquired("0", time.Second, 1)
	require.Len(t, all, MaxClasses+1)
	require.Equal(t, 2*time.Second, all["[wait acquired 0]"], "one that is known stays")
	require.Equal(t, 2*MaxClasses*time.Second, all["[wait acquired other]"])

	o, all = recorded(func(name string) string { return name[:1] })
	o.Released("é", time.Second, false, nil)
	require.Contains(t, all, "[hold ?]", "half a letter")
}
