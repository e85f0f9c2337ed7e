package rivals

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"muxlock/bench"
	"muxlock/cmd/lockbench/internal/masters"
	"muxlock/internal/child"
)

// nodePackages are installed when node-redlock is first opened.
var nodePackages = []string{"redlock@5.0.0-beta.2", "ioredis@5.11.1"}

// ErrNode is returned when node-redlock cannot be installed.
var ErrNode = errors.New("node-redlock needs node and npm")

//go:embed node_redlock.js
var nodeScript string

// nodeRedlock is node-redlock in a process of Node, with its defaults. The process ends when its input ends.
type nodeRedlock struct {
	node  *child.Talker
	last  atomic.Uint64 // id of an acquire
	calls sync.Map      // id: chan nodeAnswer
	ended chan struct{} // closed when hear returns
	mu    sync.Mutex    // guards writes to node.In
}

type (
	nodeRequest struct {
		ID      uint64   `json:"id"`                // 0: opens the clients
		Names   []string `json:"names,omitempty"`   // to acquire; none: releases what the id acquires
		TTL     int64    `json:"ttl,omitempty"`     // in ms
		Masters []string `json:"masters,omitempty"` // to open, as is the next
		From    string   `json:"from,omitempty"`
	}
	nodeAnswer struct {
		ID      uint64
		Until   int64 // in ms since 1970
		Refused bool  // others have the lock; of a release: it was not held
		Error   string
		Master  int // whose Error it is; of id 0 only
	}
)

func openNodeRedlock(ctx context.Context, o Options) (bench.Locker, error) {
	dir, err := installNode(ctx)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNode, err)
	}
	cmd := exec.Command("node", "-e", nodeScript)
	cmd.Dir, cmd.Stderr = dir, os.Stderr
	l := &nodeRedlock{ended: make(chan struct{})}
	if l.node, err = child.TalkTo(cmd); err != nil {
		return nil, err
	}
	go l.hear()
	r := nodeRequest{From: o.From}
	for _, master := range o.Masters {
		r.Masters = append(r.Masters, strings.TrimPrefix(master, "unix://")) // ioredis knows the other forms
	}
	a, err := l.call(ctx, r)
	if a.Error != "" {
		err = fmt.Errorf("master %s: %w", masters.Redact(o.Masters[a.Master]), err)
	}
	if err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

// installNode returns the folder of nodePackages. Several processes may install them at once: the first to be done wins.
func installNode(ctx context.Context) (string, error) {
	if _, err := exec.LookPath("node"); err != nil {
		return "", err
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(cache, "muxlock", strings.Join(nodePackages, "+"))
	if _, err := os.Stat(dir); err == nil {
		return dir, nil
	}
	fresh := fmt.Sprintf("%s.%d", dir, os.Getpid())
	defer os.RemoveAll(fresh)
	args := []string{"install", "--prefix", fresh, "--no-audit", "--no-fund", "--ignore-scripts", "--fetch-retries=0", "--fetch-timeout=30000", "--loglevel=error"}
	if said, err := exec.CommandContext(ctx, "npm", append(args, nodePackages...)...).CombinedOutput(); err != nil {
		return "", fmt.Errorf("npm install: %w: %.400s", err, strings.Join(strings.Fields(string(said)), " "))
	}
	if err := os.Rename(fresh, dir); err != nil && !errors.Is(err, os.ErrExist) {
		return "", err
	}
	return dir, nil
}

// hear hands over answers until the process ends.
func (l *nodeRedlock) hear() {
	defer close(l.ended)
	defer l.node.Out.Close()
	for from := json.NewDecoder(l.node.Out); ; {
		var a nodeAnswer
		if from.Decode(&a) != nil {
			return
		}
		if answered, ok := l.calls.LoadAndDelete(a.ID); ok {
			answered.(chan nodeAnswer) <- a
		}
	}
}

// call sends a request and waits for its answer. It returns bench.ErrRefused if that says so.
func (l *nodeRedlock) call(ctx context.Context, r nodeRequest) (a nodeAnswer, err error) {
	answered := make(chan nodeAnswer, 1)
	l.calls.Store(r.ID, answered)
	defer l.calls.Delete(r.ID)
	if err := l.send(r); err != nil {
		return a, err
	}
	select {
	case a = <-answered:
	case <-l.ended:
		return a, errors.New("node ended")
	case <-ctx.Done():
		if len(r.Names) > 0 {
			_ = l.send(nodeRequest{ID: r.ID}) // releases them, now or once they are acquired
		}
		return a, ctx.Err()
	}
	switch {
	case a.Refused:
		err = bench.ErrRefused
	case a.Error != "":
		err = errors.New(a.Error)
	}
	return a, err
}

func (l *nodeRedlock) send(r nodeRequest) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return json.NewEncoder(l.node.In).Encode(r)
}

func (l *nodeRedlock) Acquire(ctx context.Context, name string, ttl time.Duration) (bench.Held, error) {
	return l.AcquireAll(ctx, []string{name}, ttl)
}

func (l *nodeRedlock) TryAcquire(ctx context.Context, name string, ttl time.Duration) (bench.Held, error) {
	return l.try(ctx, []string{name}, ttl)
}

// AcquireAll makes the retries of node-redlock's defaults. Made here, they end with their ctx.
func (l *nodeRedlock) AcquireAll(ctx context.Context, names []string, ttl time.Duration) (bench.Held, error) {
	for retries := 0; ; retries++ {
		held, err := l.try(ctx, names, ttl)
		if err == nil || ctx.Err() != nil || retries == 10 {
			return held, err
		}
		select {
		case <-time.After(100*time.Millisecond + rand.N(200*time.Millisecond)):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func (l *nodeRedlock) try(ctx context.Context, names []string, ttl time.Duration) (bench.Held, error) {
	id := l.last.Add(1)
	a, err := l.call(ctx, nodeRequest{ID: id, Names: names, TTL: ttl.Milliseconds()})
	if err != nil {
		return nil, err
	}
	return nodeHeld{l, id, time.UnixMilli(a.Until)}, nil
}

// Allowance returns the allowance of node-redlock's default drift factor.
func (l *nodeRedlock) Allowance(ttl time.Duration) time.Duration {
	return ttl/100 + 2*time.Millisecond
}

func (l *nodeRedlock) Close() error {
	_ = l.node.In.Close()
	defer time.AfterFunc(10*time.Second, func() { _ = l.node.Process.Kill() }).Stop()
	<-l.node.Done
	<-l.ended
	return nil
}

type nodeHeld struct {
	locker *nodeRedlock
	id     uint64 // of the acquire
	until  time.Time
}

func (h nodeHeld) Until() time.Time { return h.until }

func (h nodeHeld) Release(ctx context.Context) error {
	_, err := h.locker.call(ctx, nodeRequest{ID: h.id})
	if errors.Is(err, bench.ErrRefused) {
		err = errors.New("rivals: the lock was not held any more")
	}
	return err
}
