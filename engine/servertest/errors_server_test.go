package servertest

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"testing"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"muxlock/engine"
	"muxlock/internal/testing/redistest"
)

// requireOneLine checks that an error matches all of wants and that its text is one line.
func requireOneLine(t *testing.T, err error, wants ...error) {
	t.Helper()
	for _, want := range wants {
		require.ErrorIs(t, err, want)
	}
	require.NotContains(t, err.Error(), "\n")
}

// The dialler's error has a line feed of its own.
func TestErrorsOfNewAndReadyAreOneLine(t *testing.T) {
	own := errors.New("the dialler's own")
	_, err := engine.New(t.Context(), engine.Config{Masters: []string{"a:1", "b:1", "c:1"}, Client: rueidis.ClientOption{
		DialCtxFn: func(context.Context, string, *net.Dialer, *tls.Config) (net.Conn, error) {
			return nil, errors.Join(own, own)
		},
	}})
	requireOneLine(t, err, engine.ErrNoQuorum, own)
	var start *engine.StartError
	require.ErrorAs(t, err, &start)
	require.Equal(t, []int{0, 2, 3}, []int{start.Admitted, start.Quorum, start.Masters})
	require.ErrorContains(t, err, "0 of 3 masters were admitted, 2 are needed; a:1: ")

	e := open(t, redistest.Masters(t, 3), shortWait, func(c *engine.Config) { c.MastersAreNew = false })
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err = e.Ready(ctx)
	requireOneLine(t, err, engine.ErrNoQuorum, engine.ErrRestarted, context.Canceled)
	var missing *engine.NotReadyError
	require.ErrorAs(t, err, &missing)
	require.Positive(t, missing.Left)
}
