package redisserver

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"muxlock/internal/resp"
	"muxlock/internal/serverinfo"
)

// askLimit is how long one INFO may take before it is sent again on a new connection.
const askLimit = time.Second

// awaitReady asks until the child answers at addr. It fails when the child ends, when another process answers
// (errPortTaken), or when ctx ends; the error then says why the child was not ready.
func awaitReady(ctx context.Context, p *process, addr, password string) error {
	for {
		pid, err := processID(ctx, addr, password)
		switch {
		case err == nil && pid == p.pid():
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
	ctx, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "tcp", addr)
	if err != nil {
		return 0, err
	}
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Now()) })
	defer stop()
	reader := bufio.NewReader(conn)
	if password != "" {
		if _, err := ask(conn, reader, "AUTH", password); err != nil {
			return 0, err
		}
	}
	info, err := ask(conn, reader, "INFO", "server")
	if err != nil {
		return 0, err
	}
	return serverinfo.Parse(info).ProcessID()
}

// ask sends one command and returns the text of its reply.
func ask(w io.Writer, r *bufio.Reader, args ...string) (string, error) {
	if _, err := w.Write(resp.AppendCommand(nil, args...)); err != nil {
		return "", err
	}
	reply, err := resp.Read(r)
	if err == nil {
		err = reply.Err()
	}
	return reply.Text, err
}
