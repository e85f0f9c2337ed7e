package redisserver

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"time"
)

// askLimit is how long one INFO may take; after it the question is asked anew, on a new connection.
const askLimit = 250 * time.Millisecond

// awaitReady asks until the child answers under addr. It fails when the child ends, when another process answers
// (errPortTaken) or when ctx ends, then with the last reason for which the child was not ready.
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

// processID asks the server under addr for its process id.
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
	for line := range strings.Lines(info) {
		if value, ok := strings.CutPrefix(line, "process_id:"); ok {
			return strconv.Atoi(strings.TrimSpace(value))
		}
	}
	return 0, errors.New("INFO names no process_id")
}

// ask sends one command and reads a reply that is a status, an error or a bulk string.
func ask(w io.Writer, r *bufio.Reader, args ...string) (string, error) {
	var cmd strings.Builder
	fmt.Fprintf(&cmd, "*%d\r\n", len(args))
	for _, arg := range args {
		fmt.Fprintf(&cmd, "$%d\r\n%s\r\n", len(arg), arg)
	}
	if _, err := io.WriteString(w, cmd.String()); err != nil {
		return "", err
	}
	line, err := r.ReadString('\n')
	if err != nil {
		return "", err
	}
	kind, rest := line[0], strings.TrimSpace(line[1:])
	switch kind {
	case '+':
		return rest, nil
	case '-':
		return "", errors.New(rest)
	case '$':
		n, err := strconv.Atoi(rest)
		if err != nil || n < 0 || n > 1<<20 {
			return "", fmt.Errorf("not a bulk string: %q", line)
		}
		body := make([]byte, n+2)
		_, err = io.ReadFull(r, body)
		return string(body[:n]), err
	}
	return "", fmt.Errorf("not a Redis reply: %q", line)
}
