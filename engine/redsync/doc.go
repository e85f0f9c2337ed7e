// Package redsync has the mutex of Redsync v4 over an engine, so that a service changes an
// import and a constructor:
//
//	import (
//		"muxlock/engine"
//		"muxlock/engine/redsync" // was github.com/go-redsync/redsync/v4
//	)
//
//	locks, err := engine.New(ctx, engine.Config{Masters: addresses}) // was a client and a pool for each
//	...
//	defer locks.Close()
//	rs := redsync.New(locks) // was redsync.New(pools...)
//
//	mutex := rs.NewMutex("invoice:42", redsync.WithExpiry(10*time.Second)) // as before, from here on
//	if err := mutex.Lock(); err != nil { ... }
//	defer mutex.Unlock()
//
// This package exports all of Redsync v4.18 with the same types, but for New's arguments and the
// drivers. Processes with Redsync and with this package exclude each other on the same masters,
// and unlock each other's locks WithValue. So a service may move one process at a time. A new
// service is better off with package engine itself.
//
// # Options
//
//	WithExpiry             honoured  up to Config.MaxTTL of the engine
//	WithTries              honoured  as how long Lock waits; 1 is TryLock
//	WithRetryDelay, -Func  honoured  as how long Lock waits; waiters are woken before that
//	WithTimeoutFactor      honoured  as how long the last try may take; one master has Config.MasterTimeout
//	WithDriftFactor        honoured  above Config.Drift, which counts for all locks: Until is earlier by the excess
//	WithValue              honoured  Unlock and Extend adopt the lock (engine.Adopt): one round trip more
//	WithSetNXOnExtend      honoured  Extend takes a lost lock again, with a new value
//	WithFailFast           ignored   every call returns once a quorum has decided
//	WithShufflePools       ignored   all masters are asked at once
//	WithGenValueFunc       refused   a value is safe for one attempt only; Config.Holder says who holds a lock
//
// Option and OptionFunc can be wrapped as before. A value that makes no sense (an expiry below 1 ms,
// no tries, a negative delay, a factor that is not a number) is refused, too. NewMutex cannot return
// an error, so each call of the mutex does, before anything is sent. That error matches
// engine.ErrInvalid and names the option.
//
// # Coming from Redsync
//
// Require the module as engine/README.md says under Install. Change the import and the constructor. Give the
// engine the addresses of the pools, with password, TLS and database as engine.Config has them. If the
// longest expiry of all processes is above 30 s, set Config.MaxTTL to it. Leave Config.Prefix empty:
// names are keys. Leave Config.MaxAttempts 0. Compare errors with errors.Is and errors.As, not with ==.
// Then look at the differences:
//
// Waiting. Lock gives up when Redsync would: after the delays between its tries, 4.65 s by
// default, and the time of one try, 0.4 s. But it does not sleep: waiters are woken when the lock
// is free, and those of one process are served in order of arrival. With WithTries(math.MaxInt)
// Lock waits until ctx's deadline.
//
// Sharing a name with Redsync. Redsync polls where an engine is woken, or is passed the name. So an engine
// leaves a name alone for a moment while it sees Redsync's value there. Where engines of several processes
// stand in line, the holder leaves the name open for 10 ms, twice a second and oftener while one of them
// sees such a value. Redsync's share of the holds, with eight goroutines in each process that hold one
// name for 1 ms, and three masters of one machine:
//
//	                            beside one engine   beside two
//	Redsync, tries every 20 ms  23 to 31 %          14 to 26 %
//	Redsync's own delays        8 to 11 %           10 to 18 %
//
// This shows the first row, in one process:
//
//	go test -v -run FairShare ./engine/redsync/redsynctest
//
// Hand-over. Unlock hands the lock to the next waiter of the process without asking the
// masters, for up to Config.HandOverTime in a row. The next one may get as little validity as half
// of the expiry: go by Until. A lock whose Value was asked for is not handed over, and regains no master
// that lost it, so ask only when another mutex needs it. After a hand-over Value is empty.
//
// Validity. Until is 2 ms earlier than Redsync's. A lock whose Until has passed is lost for good, even
// if its key is still there. A restarted master does not vote on new locks for a while
// (Config.MastersAreDurable). Valid goes by the clock and asks nobody.
//
// Unlock. The end of ctx ends the wait, and not the release, except WithValue (UnlockContext).
// ErrLockAlreadyExpired also stands for a lock that is another's by now, where Redsync has ErrTaken. If
// another process unlocks a lock by its value, others of this process still wait for it until its
// validity here has run out.
//
// Extend. It never makes a lease shorter. A master that lost the key may get it again afterwards, where that
// is safe (package engine, Life of a lock). WithSetNXOnExtend makes a new lock.
//
// Errors. They match Redsync's errors, and also the engine's, which say more:
//
//	*ErrTaken              engine.ErrTaken from Lock; engine.ErrLost or ErrNotHeld from Extend. Nodes is nil
//	*RedisError            engine.ErrNoQuorum: one for each master that gave no vote, with its place in Config.Masters
//	*ErrNodeTaken          engine.ErrNoQuorum, where some masters refused. Node is -1
//	ErrFailed              ctx ended, which is joined; or engine.ErrExpired: no validity was left
//	ErrExtendFailed        engine.ErrExpired from Extend
//	ErrLockAlreadyExpired  engine.ErrNotHeld from Unlock
//	none                   engine.ErrInvalid, ErrOverloaded, ErrClosed: nothing was sent
//
// Fencing, renewal, loss. EngineLock is the engine's lock. With Config.Fencing its Fence grows with
// each holder (0 for a lock of another process WithValue). Its KeepAlive replaces a goroutine that
// extends. Its Done and Context end when the lock is lost.
//
// Metrics. Engine.Stats has counters, Config.Observer gets events, Config.Logger gets what somebody
// should look at. Mutexes of this package are counted like other locks. A Lock that has to wait
// counts one NotAcquired and one attempt more, for its first try.
//
// The module redsynctest beside this package runs one table of behaviours against Redsync and
// against this package. Where they differ, it says why.
package redsync
