// Package raw measures the masters themselves: pipelined SET NX PX and compare-and-delete, one
// command per operation, without a lock.
//
// A Load owns its connections, four per master. One goroutine drives each connection: it writes 64
// SETs, reads 64 replies, writes 64 EVALSHAs, reads 64 replies. The bytes are encoded once, before
// the run, so that the client costs little. Every key is free when it is set and present when it
// is released; any other reply fails the run. A cycle is one SET and one release on a majority of
// the masters, since a lock waits for no more, and every master is asked. Latencies are of
// each operation on one master.
package raw

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"strconv"
	"sync"
	"time"

	"muxlock/bench"
	"muxlock/cmd/lockbench/internal/masters"
	"muxlock/internal/quorum"
	"muxlock/internal/resp"
	"muxlock/internal/wire"
)

// Name of this load among the implementations.
const Name = "raw"

// Caveat limits what its figures mean.
const Caveat = "no lock: the servers alone, one command per operation, 4 connections to each, 64 operations deep; cycles are those that a majority of masters made; ignores --workers and other flags of the load"

// The shape of the load.
const (
	ConnsPerMaster = 4
	Depth          = 64
	patience       = 2 * time.Second // bounds the last batch after the end of the run
)

// Load has the connections to all masters. The caller must Close it. Not safe for concurrent use.
type Load struct {
	bench.Locker // nil: there are no locks
	ttl          time.Duration
	conns        []*conn // of the first master, then of the next

	mu      sync.Mutex // guards the following
	batches []int64    // that each master has answered
	shares  []int64    // batches of each connection
}

// Open dials all connections. It blocks until all are connected or ctx ends.
func Open(ctx context.Context, addrs []string, ttl time.Duration) (*Load, error) {
	l := &Load{ttl: ttl, batches: make([]int64, len(addrs)), shares: make([]int64, ConnsPerMaster*len(addrs))}
	for _, master := range addrs {
		for range ConnsPerMaster {
			c, err := dial(ctx, master, len(l.conns), ttl)
			if err != nil {
				return nil, errors.Join(fmt.Errorf("master %s: %w", masters.Redact(master), err), l.Close())
			}
			l.conns = append(l.conns, c)
		}
	}
	return l, nil
}

// Close closes the connections.
func (l *Load) Close() error {
	var errs []error
	for _, c := range l.conns {
		errs = append(errs, c.Close())
	}
	return errors.Join(errs...)
}

// Run is bench.Run of a worker for each connection. Of cfg it reads Warmup, Duration, Seed, Outages, Progress and Begin.
// It returns an error and no result at the first bad reply or broken connection, or if a master does not answer
// within two seconds after the drain. A Load runs once.
func (l *Load) Run(ctx context.Context, cfg bench.Config) (*bench.Result, error) {
	r, err := bench.Run(ctx, Name, l, bench.Config{
		Workers: len(l.conns), TTL: l.ttl,
		Warmup: cfg.Warmup, Duration: cfg.Duration, Rounds: cfg.Rounds, Seed: cfg.Seed, Outages: cfg.Outages, Progress: cfg.Progress, Begin: cfg.Begin,
	})
	if err != nil && ctx.Err() == nil {
		return nil, err
	}
	r.Masters, r.Workers, r.Keys = len(l.batches), ConnsPerMaster*Depth, ConnsPerMaster*Depth // in flight at each master
	r.Fairness.Jain = bench.Jain(l.shares)                                                    // a cycle is the batch that makes the majority, whoever else took part
	return r, nil
}

// Drive makes batches on one connection: it acquires Depth keys, and releases them.
func (l *Load) Drive(ctx context.Context, worker int, count func(bench.Batch) bool) error {
	c := l.conns[worker]
	defer context.AfterFunc(ctx, func() { _ = c.SetDeadline(time.Now().Add(patience)) })() // a hung master cannot block the run for ever
	for start := time.Now(); ; {
		if err := c.send(c.sets); err != nil {
			return fmt.Errorf("SET: %w", err)
		}
		middle := time.Now()
		if err := c.send(c.releases); err != nil {
			return fmt.Errorf("EVALSHA: %w", err)
		}
		end := time.Now()
		if !count(bench.Batch{Cycles: l.answered(worker), Operations: Depth, Acquire: middle.Sub(start), Release: end.Sub(middle)}) {
			return nil
		}
		start = end
	}
}

// answered counts a batch of a connection. It returns how many cycles of a majority the batch completed.
func (l *Load) answered(conn int) int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.shares[conn]++
	mine := conn / ConnsPerMaster
	l.batches[mine]++
	with := 0 // masters that have answered as many
	for _, n := range l.batches {
		if n >= l.batches[mine] {
			with++
		}
	}
	if with != quorum.Size(len(l.batches)) {
		return 0
	}
	return Depth
}

// release is the compare-and-delete of every lock library.
const release = `if redis.call("GET",KEYS[1]) == ARGV[1] then return redis.call("DEL",KEYS[1]) else return 0 end`

// conn is one connection with its encoded batches. One goroutine uses it.
type conn struct {
	*wire.Conn
	sets, releases batch
	buf            []byte
}

// batch is commands that are sent together, with the replies that they must get.
type batch struct{ commands, want []byte }

// dial connects to one master, logs in, loads the script and encodes the batches.
func dial(ctx context.Context, master string, id int, ttl time.Duration) (*conn, error) {
	w, err := wire.Dial(ctx, master)
	if err != nil {
		return nil, err
	}
	sha, err := w.Call("SCRIPT", "LOAD", release)
	if err != nil {
		w.Close()
		return nil, err
	}
	c := &conn{
		Conn: w, sets: batch{want: bytes.Repeat([]byte("+OK\r\n"), Depth)}, releases: batch{want: bytes.Repeat([]byte(":1\r\n"), Depth)},
	}
	c.buf = make([]byte, len(c.sets.want))
	token, ms := rand.Text(), strconv.FormatInt(ttl.Milliseconds(), 10)
	for i := range Depth {
		key := fmt.Sprintf("lockbench:raw:%s:%d:%d", token[:8], id, i)
		c.sets.commands = resp.AppendCommand(c.sets.commands, "SET", key, token, "NX", "PX", ms)
		c.releases.commands = resp.AppendCommand(c.releases.commands, "EVALSHA", sha[0].Text, "1", key, token)
	}
	return c, nil
}

// send writes a batch once and reads until every reply has come.
func (c *conn) send(b batch) error {
	if _, err := c.Write(b.commands); err != nil {
		return err
	}
	got := c.buf[:len(b.want)]
	if _, err := io.ReadFull(c, got); err != nil {
		return err
	}
	if !bytes.Equal(got, b.want) {
		return fmt.Errorf("a reply was not %q: %q", b.want[:bytes.IndexByte(b.want, '\n')+1], got)
	}
	return nil
}
