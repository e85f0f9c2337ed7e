// Package redsynctest compares package engine/redsync with Redsync, in a module of its own:
// Redsync and go-redis reach no one's go.mod.
package redsynctest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-redsync/redsync/v4"
	"github.com/go-redsync/redsync/v4/redis"
	goredis "github.com/go-redsync/redsync/v4/redis/goredis/v9"
	goredislib "github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"muxlock/engine"
	shim "muxlock/engine/redsync"
	"muxlock/internal/testing/await"
)

// A mutex is what both libraries' mutexes can do.
type mutex interface {
	Name() string
	Value() string
	Until() time.Time
	Lock() error
	LockContext(context.Context) error
	TryLock() error
	TryLockContext(context.Context) error
	Unlock() (bool, error)
	UnlockContext(context.Context) (bool, error)
	Extend() (bool, error)
	ExtendContext(context.Context) (bool, error)
	Valid() (bool, error)
	ValidContext(context.Context) (bool, error)
}

// An option is one option of both libraries.
type option struct {
	real redsync.Option
	shim shim.Option
}

func expiry(d time.Duration) option { return option{redsync.WithExpiry(d), shim.WithExpiry(d)} }
func tries(n int) option            { return option{redsync.WithTries(n), shim.WithTries(n)} }
func delay(d time.Duration) option  { return option{redsync.WithRetryDelay(d), shim.WithRetryDelay(d)} }
func drift(f float64) option        { return option{redsync.WithDriftFactor(f), shim.WithDriftFactor(f)} }
func timeout(f float64) option {
	return option{redsync.WithTimeoutFactor(f), shim.WithTimeoutFactor(f)}
}
func value(v string) option { return option{redsync.WithValue(v), shim.WithValue(v)} }
func failFast() option      { return option{redsync.WithFailFast(true), shim.WithFailFast(true)} }
func shuffled() option      { return option{redsync.WithShufflePools(true), shim.WithShufflePools(true)} }
func setNXOnExtend() option { return option{redsync.WithSetNXOnExtend(), shim.WithSetNXOnExtend()} }
func genValue(v string) option {
	gen := func() (string, error) { return v, nil }
	return option{redsync.WithGenValueFunc(gen), shim.WithGenValueFunc(gen)}
}
func delays(f func(int) time.Duration) option {
	return option{redsync.WithRetryDelayFunc(f), shim.WithRetryDelayFunc(f)}
}

// A library makes mutexes, all in one process as far as the masters can tell.
type library func(name string, options ...option) mutex

// openRedsync returns Redsync over go-redis.
func openRedsync(t testing.TB, masters []string) library {
	t.Helper()
	var pools []redis.Pool
	for _, master := range masters {
		// No repetition: a SET that is sent again finds its own key.
		client := goredislib.NewClient(&goredislib.Options{Addr: master, MaxRetries: -1})
		t.Cleanup(func() { require.NoError(t, client.Close()) })
		pools = append(pools, goredis.NewPool(client))
	}
	sync := redsync.New(pools...)
	return func(name string, options ...option) mutex {
		var own []redsync.Option
		for _, o := range options {
			own = append(own, o.real)
		}
		return sync.NewMutex(name, own...)
	}
}

// openShim returns the shim over an engine of its own.
func openShim(t testing.TB, masters []string) library {
	t.Helper()
	e, err := engine.New(t.Context(), engine.Config{Masters: masters, MastersAreNew: true, MasterTimeout: await.Patience})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, e.Close()) })
	sync := shim.New(e)
	return func(name string, options ...option) mutex {
		var own []shim.Option
		for _, o := range options {
			own = append(own, o.shim)
		}
		return sync.NewMutex(name, own...)
	}
}

// kinds names the errors that errors.Is and errors.As find in an error of either library, and their
// masters.
func kinds(err error) string {
	if err == nil {
		return "nil"
	}
	var found []string
	for name, match := range map[string]bool{
		"ErrFailed":             is(err, redsync.ErrFailed, shim.ErrFailed),
		"ErrExtendFailed":       is(err, redsync.ErrExtendFailed, shim.ErrExtendFailed),
		"ErrLockAlreadyExpired": is(err, redsync.ErrLockAlreadyExpired, shim.ErrLockAlreadyExpired),
		"ErrTaken":              as[*redsync.ErrTaken](err) || as[*shim.ErrTaken](err),
		"ErrNodeTaken":          as[*redsync.ErrNodeTaken](err) || as[*shim.ErrNodeTaken](err),
		"RedisError":            as[*redsync.RedisError](err) || as[*shim.RedisError](err),
		"engine.ErrInvalid":     is(err, engine.ErrInvalid),
		"Canceled":              is(err, context.Canceled),
		"DeadlineExceeded":      is(err, context.DeadlineExceeded),
	} {
		if match {
			found = append(found, name)
		}
	}
	slices.Sort(found)
	return strings.Join(found, "+")
}

func is(err error, any ...error) bool {
	return slices.ContainsFunc(any, func(target error) bool { return errors.Is(err, target) })
}

func as[E error](err error) bool {
	var e E
	return errors.As(err, &e)
}

// failed returns the masters whose RedisError err has, in order.
func failed(err error) (masters []int) {
	switch e := err.(type) {
	case *redsync.RedisError:
		return []int{e.Node}
	case *shim.RedisError:
		return []int{e.Node}
	case interface{ Unwrap() []error }:
		for _, part := range e.Unwrap() {
			masters = append(masters, failed(part)...)
		}
	}
	slices.Sort(masters)
	return slices.Compact(masters)
}

// said is the result of a call that also returns a bool.
func said(ok bool, err error) string { return fmt.Sprint(ok, " ", kinds(err)) }
