package redisserver

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"time"

	"muxlock/internal/serverinfo"
	"muxlock/internal/wire"
)

// askLimit is how long one INFO may take before it is sent again on a new connection.
const askLimit = time.Second

// awaitReady asks until the child answers at addr. It fails when the child ends, when another process answers
// (errPortTaken), or when ctx ends; the error then says why the child was not ready.
func awaitReady(ctx context.Context, p *process, addr, password string) error {
	for {
		pid, err := processID(ctx, addr, password)
		switch {
		case err == nil && pid == p.cmd.Process.Pid:
			return nil
		case err == nil:
			return errPortTaken
		}
		select {
		case <-p.done:
			return fmt.Errorf("server ended: %v", p.cmd.ProcessState)
		case <-ctx.Done():
			return errors.Join(ctx.Err(), err)
		case <-time.After(2 * time.Millisecond):
		}
	}
}

// processID asks the server at addr for its process id.
func processID(ctx context.Context, addr, password string) (int, error) {
	server := url.URL{Scheme: "redis", Host: addr}
	if password != "" {
		server.User = url.UserPassword("", password)
	}
	info, err := wire.Ask(ctx, server.String(), askLimit, "INFO", "server")
	if err != nil {
		return 0, err
	}
	return serverinfo.Parse(info[0].Text).ProcessID()
}
