package servertest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"muxlock/engine"
	"muxlock/internal/testing/await"
)

// These environment variables make this test binary another process; their value are the masters.
const (
	holderEnv = "MUXLOCK_TEST_HOLDER"
	loadEnv   = "MUXLOCK_TEST_LOAD"
)

const holderTTL = 2 * await.Patience

// actAsHolder holds the lock "name", says so on standard output, and again when it has been
// kept beyond its ttl. Once the lock is not valid any more it prints: when it was valid last,
// whether Done was closed and what Extend said.
func actAsHolder(masters []string) {
	e, err := engine.New(context.Background(), engine.Config{Masters: masters, MastersAreNew: true, MasterTimeout: await.Patience})
	if err != nil {
		fmt.Println(err)
		return
	}
	lock, err := e.Acquire(context.Background(), "name", holderTTL)
	if err == nil {
		err = lock.KeepAlive(0)
	}
	if err != nil {
		fmt.Println(err)
		return
	}
	done, first := lock.Done(), lock.Until()
	fmt.Println("held")
	var last time.Time
	for {
		now := time.Now()
		if !lock.Valid() {
			break
		}
		if last.Before(first) && !now.Before(first) {
			fmt.Println("kept")
		}
		last = now
		time.Sleep(100 * time.Microsecond)
	}
	closed := false
	select {
	case <-done:
		closed = true
	default:
	}
	fmt.Println(last.UnixNano(), closed, errors.Is(lock.Extend(context.Background(), 0), engine.ErrLost))
}

// loadTimeout is the MasterTimeout of actAsLoad.
const loadTimeout = 2 * time.Second

// actAsLoad has 64 callers cycle, says so on standard output, waits until this process has been
// stopped for longer than a master may take, has every caller cycle on for a while and prints
// what went wrong.
func actAsLoad(masters []string) {
	e, err := engine.New(context.Background(), engine.Config{Masters: masters, MastersAreNew: true, MasterTimeout: loadTimeout})
	if err != nil {
		fmt.Println(err)
		return
	}
	var end atomic.Bool
	var failed atomic.Int64
	var callers sync.WaitGroup
	for i := range 64 {
		callers.Go(func() {
			for name := fmt.Sprint("load/", i); !end.Load(); {
				lock, err := e.Acquire(context.Background(), name, 0)
				if err == nil {
					err = lock.Release(context.Background())
				}
				if err != nil {
					failed.Add(1)
				}
			}
		})
	}
	cycles := func(n uint64) {
		for until := e.Stats().Acquired + n; e.Stats().Acquired < until; {
			time.Sleep(time.Millisecond)
		}
	}
	cycles(1000)
	last := time.Now() // before anybody knows that this process may be stopped
	fmt.Println("under load")
	for time.Since(last) < loadTimeout {
		last = time.Now()
		time.Sleep(time.Millisecond)
	}
	cycles(1000)
	end.Store(true)
	callers.Wait()
	aside := uint64(0)
	for _, m := range e.Stats().Masters {
		aside += m.SetAside
	}
	fmt.Printf("stopped, %d failed, %d set aside\n", failed.Load(), aside)
}
