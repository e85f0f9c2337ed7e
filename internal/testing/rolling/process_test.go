package rolling

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stretchr/testify/require"

	"muxlock/engine"
	"muxlock/internal/child"
	"muxlock/internal/testing/redistest"
)

// A part is what a process does, until its standard input ends:
//
//	waits  acquires the lock, holds it for a moment and releases it, again and again
//	keeps  acquires the lock, and keeps it alive
//	tries  tries to acquire it every 20 ms
//	comes  has three callers, who join the line and leave it again
//	works  reports for as long as muxlock exec lets it
type part struct {
	Does, Prefix string
	Masters      []string
	Fenced       bool
}

const (
	reportEvery = 2 * time.Millisecond
	turn        = 20 * time.Millisecond // of those who do not keep the lock
)

var holds atomic.Uint64

// reports says that a lock is valid, until ctx ends or the lock is lost; then it returns false.
func reports(ctx context.Context, lock *engine.Lock, say func(report)) (valid bool) {
	hold := fmt.Sprintf("hold %d of process %d", holds.Add(1), os.Getpid())
	for {
		at := monotonic()
		if !lock.Valid() {
			return false
		}
		on, of := lock.HeldOn()
		say(report{hold, at, on == of})
		select {
		case <-ctx.Done():
			return true
		case <-time.After(reportEvery):
		}
	}
}

// play is the main function of a process that a test starts.
func play(text string) {
	var p part
	if err := json.Unmarshal([]byte(text), &p); err != nil {
		fmt.Println("failed", err)
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		cancel()
	}()
	if p.Does == "works" {
		for ctx.Err() == nil {
			say(report{fmt.Sprint("process ", os.Getpid()), monotonic(), true})
			time.Sleep(reportEvery)
		}
		return
	}
	e, err := open(ctx, engine.Config{Masters: p.Masters, MaxTTL: ttl, TTL: ttl, Fencing: p.Fenced, Prefix: p.Prefix})
	if err != nil {
		fmt.Println("failed", err)
		return
	}
	defer e.Close()
	switch p.Does {
	case "waits":
		for ctx.Err() == nil {
			takeTurn(e.Acquire(ctx, kept, 0))
		}
	case "keeps":
		for ctx.Err() == nil {
			keepTurn(ctx, e)
		}
	case "tries":
		for ctx.Err() == nil {
			takeTurn(e.TryAcquire(ctx, kept, 0))
			pause(ctx, 20*time.Millisecond)
		}
	case "comes":
		var callers sync.WaitGroup
		for range 3 {
			callers.Go(func() {
				for ctx.Err() == nil {
					stays, leave := context.WithTimeout(ctx, 5*time.Millisecond+rand.N(295*time.Millisecond))
					takeTurn(e.Acquire(stays, kept, 0))
					leave()
					pause(ctx, rand.N(100*time.Millisecond))
				}
			})
		}
		callers.Wait()
	}
}

// open connects an engine. On a busy machine masters may be too late a few times.
func open(ctx context.Context, cfg engine.Config) (e *engine.Engine, err error) {
	for range 20 {
		if e, err = engine.New(ctx, cfg); !errors.Is(err, engine.ErrNoQuorum) {
			break
		}
		pause(ctx, 100*time.Millisecond)
	}
	return e, err
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// out guards standard output.
var out sync.Mutex

func say(r report) {
	out.Lock()
	defer out.Unlock()
	fmt.Printf("valid %d %t %s\n", r.at, r.all, r.hold)
}

// takeTurn holds a lock for a moment.
func takeTurn(lock *engine.Lock, err error) {
	if err != nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), turn)
	defer cancel()
	reports(ctx, lock, say)
	_ = lock.Release(context.Background())
}

// keepTurn keeps a lock until ctx ends, or it is lost.
func keepTurn(ctx context.Context, e *engine.Engine) {
	lock, err := e.Acquire(ctx, kept, 0)
	if err != nil {
		return
	}
	if lock.KeepAlive(0) != nil || !reports(ctx, lock, say) {
		fmt.Println("lost", lock.Err())
	}
	_ = lock.Release(context.Background())
}

// A process is a child. Its reports go to the audit.
type process struct {
	*child.Talker
	mu   sync.Mutex // guards the following
	last string     // its last hold; "": none yet
	lost []string   // what it says of kept locks that it lost
}

// start starts a process that plays a part. It ends with the test.
func (r *roll) start(does, prefix string) *process {
	self, err := os.Executable()
	require.NoError(r.t, err)
	return r.talk(exec.Command(self), part{does, prefix, redistest.Addrs(r.masters), r.s.fenced})
}

// talk starts a command whose part is in its environment.
func (r *roll) talk(cmd *exec.Cmd, does part) *process {
	text, err := json.Marshal(does)
	require.NoError(r.t, err)
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "MUXLOCK_") {
			cmd.Env = append(cmd.Env, v)
		}
	}
	cmd.Env = append(cmd.Env, partEnv+"="+string(text))
	cmd.Stderr = os.Stderr
	talker, err := child.TalkTo(cmd)
	require.NoError(r.t, err)
	p := &process{Talker: talker}
	read := make(chan struct{})
	go func() {
		defer close(read)
		p.read(r.audit)
	}()
	r.t.Cleanup(func() {
		_ = p.In.Close()
		select {
		case <-p.Done:
		case <-time.After(limit):
			r.t.Errorf("a process that %s does not end", does.Does)
			_ = p.Process.Kill()
			<-p.Done
		}
		<-read
		_ = p.Out.Close()
	})
	return p
}

// read reads what the process says.
func (p *process) read(a *audit) {
	for lines := bufio.NewScanner(p.Out); lines.Scan(); {
		var v report
		line := lines.Text()
		if _, err := fmt.Sscanf(line, "valid %d %t", &v.at, &v.all); err != nil {
			p.mu.Lock()
			p.lost = append(p.lost, line)
			p.mu.Unlock()
			continue
		}
		v.hold = strings.SplitN(line, " ", 4)[3]
		a.add(v)
		p.mu.Lock()
		p.last = v.hold
		p.mu.Unlock()
	}
}

// said returns the process's last hold, and the locks that it lost.
func (p *process) said() (last string, lost []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.last, p.lost
}
