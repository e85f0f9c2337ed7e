package faults

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"slices"
	"time"

	"muxlock/bench"
	"muxlock/internal/wire"
)

// askLimit bounds one command. A replica writes what it is sent to a disk that may be busy, and answers nobody meanwhile.
const askLimit = 10 * time.Second

// Kind says what a fault does.
type Kind string

// The kinds. A restarted master comes back empty on its port. The engine gives it no vote for
// MaxTTL and a little, so it stays away longer than the fault lasts.
const (
	Delay     Kind = "delay"     // every reply is late
	Stop      Kind = "stop"      // SIGSTOP, then SIGCONT: connections stay, replies do not come
	Kill      Kind = "kill"      // SIGKILL; started again at the end
	Restart   Kind = "restart"   // SIGKILL; started again at once
	Cut       Kind = "cut"       // all connections end, in the middle of the next bytes
	Blackhole Kind = "blackhole" // nothing passes between the master and one client process; the bytes arrive at the end
	Full      Kind = "full"      // the memory is full: nothing is granted
	Deny      Kind = "deny"      // the ACL denies all writes, also within scripts
	Flush     Kind = "flush"     // FLUSHALL: the master loses its locks and does not know it
	Replica   Kind = "replica"   // the next master's data replace its own; it is a master again at the end
	Rollback  Kind = "rollback"  // started again at the end with the data of its start
	Pause     Kind = "pause"     // SIGSTOP of a client process, then SIGCONT
	Crash     Kind = bench.Crash // SIGKILL of a client process; a new one takes its place
)

// Kinds has all kinds, in the order of the documentation.
var Kinds = []Kind{Delay, Stop, Kill, Restart, Cut, Blackhole, Full, Deny, Flush, Replica, Rollback, Pause, Crash}

// Grammar describes the texts of Parse for people.
const Grammar = "delay:K:SPAN, stop:K, kill:K, full:K, deny:K, which last for the whole run or @FROM-TO; " +
	"blackhole:K:P, replica:K, rollback:K with @FROM-TO; cut:K, restart:K, flush:K with @AT; " +
	"of client process P (--procs) pause:P@FROM-TO, crash:P@AT (stop:1@2s-4s, delay:2:lognormal(5ms,1))"

// TakesAway reports whether locks may have to do without something: a master, its locks, a
// connection or their own process.
func (k Kind) TakesAway() bool { return k != Delay }

// NeedsClients reports whether the kind needs client processes.
func (k Kind) NeedsClients() bool { return k.ofClient() || k == Blackhole }

// Forgets reports whether the master has lost its locks afterwards.
func (k Kind) Forgets() bool { return k == Kill || k == Restart || k.Misleads() }

// Misleads reports whether only locks with fencing tokens can notice that the master has lost
// its locks, or has old ones.
func (k Kind) Misleads() bool { return k == Flush || k == Replica || k == Rollback }

// ofClient reports whether the fault is a client's own.
func (k Kind) ofClient() bool { return k == Pause || k == Crash }

// proxied reports whether the fault is in a proxy before the master.
func (k Kind) proxied() bool { return k == Delay || k == Cut || k == Blackhole }

// event reports whether a fault of that kind has no length.
func (k Kind) event() bool { return k == Restart || k == Cut || k == Flush || k == Crash }

// mayBeWhole reports whether the fault may last for the whole run.
func (k Kind) mayBeWhole() bool { return slices.Contains([]Kind{Delay, Stop, Kill, Full, Deny}, k) }

// ServerArgs returns the arguments of servers for these faults. A replica and a rollback need a
// data folder, which any argument keeps. In protected mode some servers serve 127.0.0.1 alone.
func ServerArgs(list []Fault) []string {
	if !slices.ContainsFunc(list, func(f Fault) bool { return f.Kind == Replica || f.Kind == Rollback || f.Kind == Blackhole }) {
		return nil
	}
	return []string{"--repl-diskless-sync-delay", "0", "--rdb-del-sync-files", "yes", "--protected-mode", "no"}
}

// Clients are the processes of a load. Numbers count from 0.
type Clients interface {
	Pause(number int) error
	Resume(number int) error
	// Replace kills the process. A new one takes its place.
	Replace(number int) error
}

// set begins a fault or ends it. An event only begins.
func (r *Rig) set(f *Fault, on bool, clients Clients) error {
	switch f.Kind {
	case Pause:
		return either(on, clients.Pause, clients.Resume)(f.Client)
	case Crash:
		return clients.Replace(f.Client)
	}
	s, proxy := r.servers[f.Master], r.proxies[f.Master]
	ask := func(words ...string) error {
		_, err := wire.Ask(context.Background(), s.Addr(), askLimit, words...)
		return err
	}
	restart := func() error { return errors.Join(s.Kill(), s.Restart(context.Background())) } // bounds itself
	switch f.Kind {
	case Stop:
		return either(on, s.Pause, s.Resume)()
	case Kill:
		return either(on, s.Kill, restart)()
	case Restart:
		return restart()
	case Full:
		return ask("CONFIG", "SET", "maxmemory", either(on, "1", "0"))
	case Deny:
		return ask("ACL", "SETUSER", "default", either(on, "-@write", "+@all"))
	case Flush:
		return ask("FLUSHALL")
	case Replica:
		host, port := "NO", "ONE"
		if on {
			host, port, _ = net.SplitHostPort(r.servers[(f.Master+1)%len(r.servers)].Addr()) // which has both
		}
		return ask("REPLICAOF", host, port)
	case Rollback:
		if on {
			return ask("SAVE")
		}
		return errors.Join(restart(), os.Remove(filepath.Join(s.Dir(), "dump.rdb"))) // the next restart is without
	case Delay:
		r.delay(f, on)
	case Cut:
		proxy.Cut()
	case Blackhole:
		proxy.Blackhole(f.Client, on)
	}
	return nil
}

func either[T any](on bool, begin, end T) T {
	if on {
		return begin
	}
	return end
}

// delay adds a fault's delay to those in force, or removes it.
func (r *Rig) delay(f *Fault, on bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.delays[f] = on
	spans := []bench.Span{}
	for i := range r.list {
		if g := &r.list[i]; r.delays[g] && g.Master == f.Master {
			spans = append(spans, g.Delay)
		}
	}
	r.proxies[f.Master].Delay(spans)
}
