package engine_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/redis/rueidis"

	"muxlock/engine"
	"muxlock/engine/lockdebug"
	"muxlock/internal/redisfake"
)

func Example() {
	ctx := context.Background()
	locks, err := engine.New(ctx, engine.Config{
		Masters: []string{"10.0.0.1:6379", "10.0.0.2:6379", "10.0.0.3:6379"},
		Client:  client, // Username, Password, TLSConfig
		Holder:  "pod-7",
		Logger:  logger, MasterTimeout: masterTimeout, // lockbench advises; default 200 ms
	})
	if err != nil {
		log.Fatal(err) // errors.As: a *engine.StartError has each master's reason
	}
	defer locks.Close()
	if err := locks.Ready(ctx); err != nil {
		log.Fatal(err)
	}

	lock, err := locks.Acquire(ctx, "invoice/4711", 10*time.Second)
	if err != nil {
		log.Fatal(err)
	}
	defer lock.Release(context.WithoutCancel(ctx))

	// Work that stops when the lock is lost.
	held, cancel := lock.Context(ctx)
	defer cancel()
	fmt.Println(send(held), lock.Valid())
	// Output:
	// <nil> true
}

func ExampleEngine_Do() {
	var locks *engine.Engine // from engine.New
	err := locks.Do(context.Background(), "nightly report", time.Minute, func(ctx context.Context) error {
		return send(ctx) // ctx ends when the lock is lost
	})
	if errors.Is(err, engine.ErrLost) {
		log.Print("the lock was lost while the report was made: ", err)
	}
}

// A worker takes a page of rows, and works off those that no other has. All are renewed from the start, since the turn of
// the last one comes late.
func ExampleEngine_AcquireMany() {
	locks := onMastersOfThisProcess() // yours is from engine.New
	defer locks.Close()
	ctx, rows := context.Background(), []string{"row/1", "row/2", "row/3"}
	other, err := locks.Acquire(ctx, "row/2", 10*time.Second)
	if err != nil {
		log.Fatal(err)
	}
	defer other.Release(ctx)

	var page []*engine.Lock
	for i, r := range locks.AcquireMany(ctx, rows, 10*time.Second) {
		switch {
		case r.Err == nil:
			_ = r.Lock.KeepAlive(0)
			page = append(page, r.Lock)
		case !errors.Is(r.Err, engine.ErrTaken): // else somebody works on it
			log.Print(rows[i], ": ", r.Err)
		}
	}
	defer locks.ReleaseMany(context.WithoutCancel(ctx), page) // what an error or a panic leaves
	for _, lock := range page {
		held, cancel := lock.Context(ctx) // it has ended if the lock was lost before its turn
		if held.Err() == nil && send(held) == nil {
			fmt.Println("done with", lock.Name())
		}
		cancel()
		_ = lock.Release(context.WithoutCancel(ctx))
	}
	// Output:
	// done with row/1
	// done with row/3
}

// A transfer needs both accounts. Transfers of others may want them in another order.
func ExampleEngine_DoAll() {
	locks := onMastersOfThisProcess() // yours is from engine.New
	defer locks.Close()
	err := locks.DoAll(context.Background(), []string{"account/7", "account/9"}, 10*time.Second, func(ctx context.Context, set *engine.Set) error {
		for _, lock := range set.Locks() {
			fmt.Println("nobody else has", lock.Name())
		}
		return ctx.Err()
	})
	fmt.Println(err)
	// Output:
	// nobody else has account/7
	// nobody else has account/9
	// <nil>
}

// Any number of readers, in any processes, or one writer.
func ExampleEngine_DoShared() {
	locks := onMastersOfThisProcess() // yours is from engine.New
	defer locks.Close()
	ctx := context.Background()
	var reading, readers sync.WaitGroup
	reading.Add(2)
	looked := make(chan struct{})
	show := func(ctx context.Context) error {
		reading.Done()
		<-looked
		return ctx.Err()
	}
	for range 2 {
		readers.Go(func() {
			if err := locks.DoShared(ctx, "catalogue", 10*time.Second, show); err != nil {
				log.Fatal(err)
			}
		})
	}
	reading.Wait()
	fmt.Println("two read")
	_, err := locks.TryAcquire(ctx, "catalogue", 10*time.Second)
	fmt.Println("a writer must wait:", errors.Is(err, engine.ErrTaken))
	close(looked)
	readers.Wait()
	fmt.Println(locks.Do(ctx, "catalogue", 10*time.Second, func(ctx context.Context) error {
		fmt.Println("it writes when all have read")
		return ctx.Err()
	}))
	// Output:
	// two read
	// a writer must wait: true
	// it writes when all have read
	// <nil>
}

// At most four workers of all processes print at once. The slot says which printer is theirs.
func ExampleEngine_DoPermit() {
	locks := onMastersOfThisProcess() // yours is from engine.New
	defer locks.Close()
	err := locks.DoPermit(context.Background(), "printers", 4, 10*time.Second, func(ctx context.Context) error {
		permit, _ := engine.LockFrom(ctx)
		fmt.Println("there is a printer of that number:", permit.Slot() < 4)
		return ctx.Err()
	})
	fmt.Println(err)
	// Output:
	// there is a printer of that number: true
	// <nil>
}

// One process of many drains the queue; the others stand by and follow.
func ExampleEngine_Lead() {
	locks := onMastersOfThisProcess() // yours is from engine.New, with Config.Fencing
	defer locks.Close()
	ctx, stop := context.WithCancel(context.Background()) // yours ends at a signal
	parts := 0
	drain := func(ctx context.Context, fence uint64) error {
		if parts++; parts == 3 {
			stop()
		}
		return nil
	}
	err := locks.Lead(ctx, "drain the queue", 15*time.Second, func(ctx context.Context, lock *engine.Lock) error {
		for ctx.Err() == nil { // it ends 5 s before somebody else can lead
			if err := drain(ctx, lock.Fence()); err != nil {
				return err // logged; after a pause somebody leads again
			}
		}
		return ctx.Err()
	})
	fmt.Println(parts, err) // the lock is released
	// Output:
	// 3 context canceled
}

// Somebody holding the lock and the masters being away ask for different things.
func ExampleEngine_TryAcquire() {
	var locks *engine.Engine // from engine.New
	lock, err := locks.TryAcquire(context.Background(), "nightly report", time.Minute)
	switch {
	case err == nil:
		defer lock.Release(context.Background())
		fmt.Println("ours until", lock.Until())
	case errors.Is(err, engine.ErrTaken):
		fmt.Println("another process is at it")
	case errors.Is(err, engine.ErrNoQuorum):
		var attempt *engine.AttemptError
		if errors.As(err, &attempt) {
			for _, cause := range attempt.Causes {
				fmt.Println("master", cause.Master, "is away:", cause.Err)
			}
		}
	default:
		fmt.Println("not acquired:", err)
	}
}

// A lease can be moved out while the work goes on.
func ExampleLock_Extend() {
	var lock *engine.Lock // from Acquire
	for part := range 10 {
		if time.Until(lock.Until()) < 5*time.Second {
			if err := lock.Extend(context.Background(), 30*time.Second); errors.Is(err, engine.ErrLost) {
				return // somebody else may hold it by now
			}
		}
		fmt.Println("part", part)
	}
}

// A job is begun by one process and ended by another: lock.Reveal() travels with it.
func ExampleEngine_Adopt() {
	var locks *engine.Engine // from engine.New
	var job struct{ ID, Token string }
	ctx := context.Background()
	lock, err := locks.Adopt(ctx, "job/"+job.ID, job.Token, time.Minute)
	if errors.Is(err, engine.ErrNotHeld) {
		return // the lease ran out on the way: somebody else may be at it
	}
	if err != nil {
		log.Fatal(err)
	}
	defer lock.Release(ctx)
	if err := lock.KeepAlive(time.Hour); err != nil {
		log.Fatal(err)
	}
	held, cancel := lock.Context(ctx)
	defer cancel()
	send(held)
}

// A log for people, and an alert for the one event that leaves work unprotected. Metrics
// are in packages lockprom, for Prometheus, and lockotel, for OpenTelemetry.
func ExampleObserver() {
	locks, err := engine.New(context.Background(), engine.Config{
		Masters: []string{"10.0.0.1:6379", "10.0.0.2:6379", "10.0.0.3:6379"},
		Client:  client, MasterTimeout: masterTimeout,
		Logger: logger, // locks lost, releases not confirmed, masters set aside and voting again
		Observer: &engine.Observer{
			Lost: func(name string, held time.Duration, cause error) {
				alert(name, cause)
			},
			NotAcquired: func(name string, wait time.Duration, attempts int, err error) {
				logger.Debug("not acquired", "lock", name, "wait", wait, "attempts", attempts, "error", err)
			},
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer locks.Close()
	_ = locks.Do(context.Background(), "invoice/4711", 10*time.Second, send)
	// Output:
}

// A page of this process's locks, and what it has measured, for lockbench advise --from: /debug/muxlock/measured.
func ExampleEngine_Measured() {
	var locks *engine.Engine // from engine.New, with Config.Measure
	http.Handle("/debug/muxlock/", lockdebug.Handler(locks))
}

func alert(name string, cause error) {}

func send(context.Context) error { return nil }

// client reaches masters of this process, for examples that run without servers. Package redisfake cannot be imported from
// other modules. Your masters are servers, and for tests there is enginetest.New.
var client = rueidis.ClientOption{DialCtxFn: func(ctx context.Context, addr string, d *net.Dialer, c *tls.Config) (net.Conn, error) {
	return fakes[addr].Dial(ctx, addr, d, c)
}}

var fakes = map[string]*redisfake.Server{"10.0.0.1:6379": redisfake.New(), "10.0.0.2:6379": redisfake.New(), "10.0.0.3:6379": redisfake.New()}

const masterTimeout = 5 * time.Second // masters of this process may have little of a busy processor

var logger = slog.New(slog.NewJSONHandler(io.Discard, nil)) // slog.Default(), say

func onMastersOfThisProcess() *engine.Engine {
	locks, err := engine.New(context.Background(), engine.Config{Masters: slices.Sorted(maps.Keys(fakes)), Client: client, MasterTimeout: masterTimeout})
	if err != nil {
		log.Fatal(err)
	}
	return locks
}
