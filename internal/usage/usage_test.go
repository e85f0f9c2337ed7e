package usage

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestNamesThatAreNearAreSuggested(t *testing.T) {
	names := []string{"run", "compare", "masters", "master-timeout"}
	for typed, want := range map[string]string{
		"rnu": "--run", "RUN": "--run", "ru": "--run", "runx": "--run", "un": "--run", "compaer": "--compare",
		"masteers": "--masters", "mast": "--masters or --master-timeout", "mastre-timeout": "--master-timeout",
		"": "--run or --compare or --masters or --master-timeout",
	} {
		require.Equal(t, "; did you mean "+want+"?", Near(typed, "--", names), typed)
	}
	for _, typed := range []string{"walk", "runner", "cmpr", "timeout"} {
		require.Empty(t, Near(typed, "--", names), typed)
	}
}

func TestTheExitCodeOfAnErrorIsItsOwnOrThatOfItsKind(t *testing.T) {
	for _, c := range []struct {
		err   error
		code  int
		quiet bool
	}{
		{nil, ExitOK, true},
		{errors.New("failed"), 9, false},
		{fmt.Errorf("so: %w", Errorf("--x is %d", 5)), 8, false},
		{errors.Join(Exitf(4, "both %s", "hold"), errors.New("failed")), 4, false},
		{Exitf(3, ""), 3, true},
	} {
		code, quiet := Code(c.err, 8, 9)
		require.Equal(t, c.code, code, "%v", c.err)
		require.Equal(t, c.quiet, quiet, "%v", c.err)
	}
	cause := errors.New("cause")
	require.ErrorIs(t, Errorf("--x: %w", cause), cause)
	require.EqualError(t, Exitf(4, "%d locks", 2), "2 locks")
}
