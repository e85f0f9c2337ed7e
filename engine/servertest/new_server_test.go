package servertest

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"muxlock/engine"
	"muxlock/internal/redisfake"
	"muxlock/internal/redisserver"
	"muxlock/internal/testing/await"
	"muxlock/internal/testing/redistest"
)

func TestNewRefusesAWrongPasswordWithoutQuotingIt(t *testing.T) {
	masters := redistest.MastersWith(t, 3, redisserver.Options{Password: "right-secret"})
	addrs := redistest.Addrs(masters)
	for name, cfg := range map[string]engine.Config{
		"wrong in Client": {Masters: addrs, Client: rueidis.ClientOption{Password: "wrong-secret"}},
		"none":            {Masters: addrs},
		"wrong in a URL":  {Masters: []string{"redis://default:wrong-secret@" + addrs[0], "redis://:wrong-secret@" + addrs[1], addrs[2]}},
		"wrong for two of three": {
			Masters: []string{addrs[0], "redis://:wrong-secret@" + addrs[1], "redis://:wrong-secret@" + addrs[2]},
			Client:  rueidis.ClientOption{Password: "right-secret"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			cfg.MasterTimeout = await.Patience
			_, err := engine.New(t.Context(), cfg)
			require.ErrorIs(t, err, engine.ErrInvalid)
			require.ErrorContains(t, err, "Masters: a master cannot be used as configured; ")
			require.ErrorContains(t, err, "set the right user and password")
			require.NotContains(t, err.Error(), "are needed", "enough are up")
			require.ErrorContains(t, err, addrs[2])
			require.Regexp(t, "WRONGPASS|NOAUTH", err.Error())
			require.NotContains(t, err.Error(), "secret")
		})
	}
	for name, cfg := range map[string]engine.Config{
		"for two of three":     {Masters: []string{addrs[0], addrs[1], "redis://:wrong-secret@" + addrs[2]}, Client: rueidis.ClientOption{Password: "right-secret"}},
		"in Client":            {Masters: addrs, Client: rueidis.ClientOption{Password: "right-secret"}},
		"in URLs":              {Masters: []string{"redis://:right-secret@" + addrs[0], "redis://default:right-secret@" + addrs[1] + "/0", "redis://:right-secret@" + addrs[2]}},
		"URLs override Client": {Masters: []string{"redis://:right-secret@" + addrs[0]}, Client: rueidis.ClientOption{Password: "wrong-secret"}},
		"from AuthCredentialsFn": {Masters: addrs, Client: rueidis.ClientOption{AuthCredentialsFn: func(rueidis.AuthCredentialsContext) (rueidis.AuthCredentials, error) {
			return rueidis.AuthCredentials{Password: "right-secret"}, nil
		}}},
		"with RESP2":      {Masters: addrs, Client: rueidis.ClientOption{Password: "right-secret", AlwaysRESP2: true, ClientName: "tester"}},
		"with a database": {Masters: addrs, Client: rueidis.ClientOption{Password: "right-secret", SelectDB: 3}},
	} {
		t.Run("right "+name, func(t *testing.T) {
			cfg.MastersAreNew, cfg.MasterTimeout = true, await.Patience
			e, err := engine.New(t.Context(), cfg)
			require.NoError(t, err)
			cycle(t, e, t.Name())
			require.NoError(t, e.Close())
		})
	}
}

// unfit has masters on which waiting does not help, and what the error says of each.
var unfit = map[string]struct {
	args   []string
	before func(t *testing.T, m *redisserver.Server)
	says   string
}{
	"cluster":         {args: []string{"--cluster-enabled", "yes"}, says: "cluster mode, .*: name servers with cluster-enabled no"},
	"without EVALSHA": {args: []string{"--rename-command", "EVALSHA", ""}, says: "trial lock: unknown command 'EVALSHA' .*rename-command"},
	"without SCRIPT":  {args: []string{"--rename-command", "SCRIPT", ""}, says: "SCRIPT LOAD .*: unknown command 'SCRIPT' .*rename-command"},
	"without SET":     {args: []string{"--rename-command", "SET", ""}, says: "trial lock: unknown command 'SET' .*rename-command"},
	"without PTTL":    {args: []string{"--rename-command", "PTTL", ""}, says: "trial lock: unknown command in a script: GET, PTTL or PEXPIRE .*rename-command"},
	"without a right": {before: func(t *testing.T, m *redisserver.Server) {
		redistest.Command(t, m, "ACL", "SETUSER", "default", "-evalsha")
	}, says: "NOPERM .*grant the rights"},
}

func TestNewDoesNotWaitForServersThatWillNotDo(t *testing.T) {
	t.Parallel()
	good := redistest.Masters(t, 2)
	for name, c := range unfit {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bad := redistest.MastersWith(t, 2, redisserver.Options{Args: c.args})
			if c.before != nil {
				for _, m := range bad {
					c.before(t, m)
				}
			}
			requireRuledOut(t, good, redistest.Addrs(bad), c.says)
		})
	}
}

// requireRuledOut asserts that New refuses two bad masters beside a good one, and works with one bad beside two.
func requireRuledOut(t *testing.T, good []*redisserver.Server, bad []string, says string, changes ...func(*engine.Config)) {
	t.Helper()
	addrs := redistest.Addrs(good)
	cfg := with(engine.Config{Masters: append(bad[:2:2], addrs[0]), MastersAreNew: true, MasterTimeout: await.Patience}, changes...)
	_, err := engine.New(t.Context(), cfg)
	require.ErrorIs(t, err, engine.ErrInvalid)
	require.NotErrorIs(t, err, engine.ErrNoQuorum)
	require.Regexp(t, says, err)
	cfg.Masters = append(addrs[:2:2], bad[0])
	e, err := engine.New(t.Context(), cfg)
	require.NoError(t, err)
	defer e.Close()
	require.Regexp(t, says, cause(e, 2))
	cycle(t, e, t.Name())
}

// answers has three masters in this process answer commands in their own way, whatever the arguments.
func answers(how map[string]any) engine.Config {
	cfg := engine.Config{MastersAreNew: true}
	var masters []*redisfake.Server
	for i := range 3 {
		masters, cfg.Masters = append(masters, redisfake.New()), append(cfg.Masters, fmt.Sprintf("192.0.2.%d:6379", i))
		masters[i].Answer(func(words []string) any { return how[words[0]] })
	}
	cfg.Client.DialCtxFn = func(ctx context.Context, address string, d *net.Dialer, c *tls.Config) (net.Conn, error) {
		return masters[slices.Index(cfg.Masters, address)].Dial(ctx, address, d, c)
	}
	return cfg
}

func TestNewSaysWhatAServerWithoutRunIDLacks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, err := engine.New(t.Context(), answers(map[string]any{"INFO": "# Server\r\nuptime_in_seconds:1\r\n"}))
		require.ErrorIs(t, err, engine.ErrInvalid)
		require.ErrorContains(t, err, "INFO has no run_id")
		require.ErrorContains(t, err, "enginetest")
	})
}

// What protected mode says to those who connect from elsewhere, as soon as they do.
func TestNewShowsWhyAServerClosesTheConnectionAtOnce(t *testing.T) {
	const denied = "DENIED Redis is running in protected mode because protected mode is enabled and no password is set for the default user."
	for name, end := range map[string]func(*net.TCPConn) error{"end": (*net.TCPConn).CloseWrite, "reset": (*net.TCPConn).Close} {
		t.Run(name, func(t *testing.T) {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			require.NoError(t, err)
			defer l.Close()
			go func() {
				for {
					c, err := l.Accept()
					if err != nil {
						return
					}
					defer c.Close()
					_, _ = c.Write([]byte("-" + denied + "\r\n"))
					_ = end(c.(*net.TCPConn))
				}
			}()
			_, err = engine.New(t.Context(), engine.Config{Masters: []string{l.Addr().String()}, MasterTimeout: await.Patience})
			require.ErrorIs(t, err, engine.ErrInvalid)
			require.ErrorContains(t, err, denied)
			require.ErrorContains(t, err, "protected-mode no")
			require.NotContains(t, err.Error(), "TLS")
		})
	}
}

func TestNewContextIsNotUsedAfterwards(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	masters := redistest.Masters(t, 3)
	e, err := engine.New(ctx, engine.Config{Masters: redistest.Addrs(masters), MastersAreNew: true, MasterTimeout: await.Patience})
	require.NoError(t, err)
	defer e.Close()
	cancel()
	cycle(t, e, t.Name())
	require.NoError(t, masters[0].Kill())
	require.NoError(t, masters[0].Restart(t.Context()))
	await.True(t, func() bool {
		cycle(t, e, t.Name())
		return back(e, 0, 0)
	}, "reconnects")
}

func TestConfigIsReadOnlyOnce(t *testing.T) {
	addrs := redistest.Addrs(five(t))
	cfg := engine.Config{Masters: append([]string(nil), addrs...), MastersAreNew: true, MasterTimeout: await.Patience}
	e, err := engine.New(t.Context(), cfg)
	require.NoError(t, err)
	defer e.Close()
	clear(cfg.Masters)
	cycle(t, e, t.Name())
	require.Equal(t, addrs[0], e.Stats().Masters[0].Address)
}
