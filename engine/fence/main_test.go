package fence_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"testing"

	"github.com/redis/rueidis"
	"go.uber.org/goleak"

	"muxlock/internal/redisserver"
	"muxlock/internal/testing/redistest"
)

// client is connected to a server for all tests, each with keys of its own.
var client rueidis.Client

func TestMain(m *testing.M) {
	flag.Parse()
	code, err := run(m)
	if err == nil && code == 0 {
		err = goleak.Find()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// run runs the tests beside a server. Without one it leaves out the tests of Value: an example cannot skip itself.
func run(m *testing.M) (code int, err error) {
	if os.Getenv(redistest.QuickEnv) == "1" {
		return withoutValue(m, "no test starts a process")
	}
	server, err := redisserver.Start(context.Background(), redisserver.Options{})
	if errors.Is(err, redisserver.ErrNoBinary) && os.Getenv(redistest.RequireEnv) != "1" {
		return withoutValue(m, err)
	}
	if err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, server.Stop()) }()
	client, err = rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{server.Addr()}, ForceSingleClient: true, DisableCache: true})
	if err != nil {
		return 1, err
	}
	defer client.Close()
	return m.Run(), nil
}

// withoutValue runs the tests that need no server.
func withoutValue(m *testing.M, why any) (code int, err error) {
	fmt.Fprintln(os.Stderr, "tests of Value are skipped:", why)
	if err := flag.Set("test.skip", "Value"); err != nil {
		return 1, err
	}
	return m.Run(), nil
}
