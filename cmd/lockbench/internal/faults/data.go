package faults

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"muxlock/cmd/lockbench/internal/wire"
	"muxlock/internal/redisserver"
	"muxlock/internal/serverinfo"
)

const (
	askLimit  = 2 * time.Second // of one command
	copyLimit = 2 * time.Second // until another master's data are there
)

// ServerArgs is how servers are started for a list of faults. A copy and a rollback need the
// data folder, which any argument keeps. Neither leaves data there for a later restart.
func ServerArgs(list []Fault) []string {
	if slices.ContainsFunc(list, func(f Fault) bool { return f.Kind == Copy || f.Kind == Rollback }) {
		return []string{"--repl-diskless-sync-delay", "0", "--rdb-del-sync-files", "yes"}
	}
	return nil
}

// copyOther makes a master a replica of another one, until it has that one's data. It tries
// the others in turn. Where none of them sends its data, the master keeps its own.
func (m *master) copyOther() error {
	addr := m.server.Addr()
	for _, other := range m.others {
		host, port, err := net.SplitHostPort(other.Addr())
		if err == nil {
			err = ask(addr, "REPLICAOF", host, port)
		}
		if err != nil {
			return err
		}
		if linked(addr) {
			break
		}
	}
	return ask(addr, "REPLICAOF", "NO", "ONE")
}

// linked waits until a replica has the data of its master.
func linked(addr string) bool {
	for end := time.Now().Add(copyLimit); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		reply, err := wire.Ask(context.Background(), addr, askLimit, "INFO", "replication")
		if err == nil && serverinfo.Parse(reply[0].Text)["master_link_status"] == "up" {
			return true
		}
	}
	return false
}

// rollBack restarts a server with what it saved. The next restart is without it.
func rollBack(s *redisserver.Server) error {
	return errors.Join(restart(s), os.Remove(filepath.Join(s.Dir(), "dump.rdb")))
}

func restart(s *redisserver.Server) error {
	return errors.Join(s.Kill(), s.Restart(context.Background())) // bounds itself
}

// ask sends a command over a connection of its own.
func ask(addr string, words ...string) error {
	if _, err := wire.Ask(context.Background(), addr, askLimit, words...); err != nil {
		return fmt.Errorf("%s at %s: %w", strings.Join(words, " "), addr, err)
	}
	return nil
}
