package pipeline

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"muxlock/internal/resp"
)

func TestMasterIsRuledOutByWhatWaitingCannotMend(t *testing.T) {
	certificate := &tls.CertificateVerificationError{Err: errors.New("unknown authority")}
	for _, err := range []error{
		resp.ErrorOf("WRONGPASS text"), resp.ErrorOf("NOAUTH text"), resp.ErrorOf("NOPERM text"), resp.ErrorOf("ERR ACL failure in script: text"),
		resp.ErrorOf("ERR DB index is out of range"), resp.ErrorOf("ERR SELECT is not allowed in cluster mode"),
		resp.ErrorOf("ERR unknown command 'EVALSHA'"), resp.ErrorOf("ERR Unknown Redis command called from script script: 5fe"),
		resp.ErrorOf("@user_script: 6: Unknown Redis command called from Lua script"),
		fmt.Errorf("%w (%w)", resp.ErrorOf("DENIED text"), io.EOF),
		fmt.Errorf("TLS handshake: %w", certificate), &net.OpError{Op: "remote error", Err: errors.New("tls: certificate required")},
	} {
		was := asRefusal(err)
		require.ErrorAs(t, was, new(refusal), "%v", err)
		require.ErrorIs(t, was, err)
		require.Greater(t, len(was.Error()), len(err.Error())+10, "what to do")
		require.Equal(t, was, asRefusal(was), "once")
	}
	for _, err := range []error{
		nil, io.EOF, net.ErrClosed, syscall.ECONNRESET, context.DeadlineExceeded, fmt.Errorf("%w (%w)", resp.ErrorOf("ERR max number of clients reached"), io.EOF),
		resp.ErrorOf("LOADING text"), resp.ErrorOf("OOM text"), resp.ErrorOf("ERR internal error"), errSameServer,
		&net.OpError{Op: "remote error", Err: errors.New("tls: internal error")}, tls.RecordHeaderError{}, errors.New("my dialler: unknown command"),
	} {
		require.Equal(t, err, asRefusal(err))
	}
}

// Only the masters that are left decide whether there can be a quorum.
func TestNewDoesNotWaitForMastersThatAreRuledOut(t *testing.T) {
	denies := answering("-NOPERM this user has no permissions to run the 'evalsha' command\r\n", "EVALSHA")
	for name, c := range map[string]struct {
		ruledOut, away        int
		starts, misconfigured bool
	}{
		"none":                 {0, 0, true, false},
		"a minority":           {2, 0, true, false},
		"a majority":           {3, 0, false, true},
		"all":                  {5, 0, false, true},
		"a minority, one away": {2, 1, false, false},
		"one, a majority away": {1, 3, false, false},
		"a majority, one away": {3, 1, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, 5, func(t *testing.T, b *bubble) {
				for _, f := range b.fakes[:c.ruledOut] {
					f.hook = denies
				}
				for _, f := range b.fakes[c.ruledOut : c.ruledOut+c.away] {
					f.refuse = true
				}
				if !c.starts {
					_, err := New(b.Context(), b.cfg)
					var start *StartError
					require.ErrorAs(t, err, &start)
					require.Equal(t, c.misconfigured, start.Misconfigured, "%v", err)
					require.Len(t, start.Causes, c.ruledOut+c.away)
					return
				}
				p := b.started()
				require.Equal(t, 5-c.ruledOut, b.up())
				b.cycle("a")
				for i, f := range b.fakes[:c.ruledOut] {
					require.ErrorContains(t, p.Stats().Masters[i].Cause, "grant the rights")
					f.set(func() { f.hook = nil })
				}
				b.untilUp(5) // they are tried again
			})
		})
	}
}

func TestMissingDatabaseRefusesAll(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, b *bubble) {
		b.cfg.Masters[0].Option.SelectDB = 7
		b.fakes[0].hook = answering("-ERR DB index is out of range\r\n", "SELECT")
		_, err := New(b.Context(), b.cfg)
		var start *StartError
		require.ErrorAs(t, err, &start)
		require.True(t, start.Misconfigured)
	})
}
