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
// All that Redsync v4.18 exports is here with the same types, but for New's arguments and the
// drivers. Processes with Redsync and with this package exclude each other on the same masters,
// and unlock each other's locks WithValue: a service may move one process at a time.
// A service that is written anew is better off with package engine itself.
//
// # Options
//
//	WithExpiry             honoured  up to Config.MaxTTL of the engine
//	WithTries              honoured  as how long Lock waits; 1 is TryLock
//	WithRetryDelay, -Func  honoured  as how long Lock waits; waiters are woken before that
//	WithTimeoutFactor      honoured  as how long the last try may take; one master has Config.MasterTimeout
//	WithDriftFactor        honoured  above 0.01: Until is that much earlier; else Config.Drift counts
//	WithValue              honoured  Unlock and Extend adopt the lock (engine.Adopt): one round trip more
//	WithSetNXOnExtend      honoured  Extend takes a lost lock again, with a new value
//	WithFailFast           ignored   every call returns once a quorum has decided
//	WithShufflePools       ignored   all masters are asked at once
//	WithGenValueFunc       refused   a value is safe for one attempt only; Config.Holder says who holds a lock
//
// Option and OptionFunc can be wrapped as before. A value that makes no sense (an expiry below 1 ms,
// no tries, a negative delay, a factor that is not a number) is refused, too: NewMutex cannot return
// an error, so each call of the mutex does, before anything is sent. It matches
// engine.ErrInvalid and names the option.
//
// # Coming from Redsync
//
// Require the module as README says under Install. Change the import and the constructor; give the engine the addresses that the pools had,
// with password, TLS and database as engine.Config has them, and the longest expiry of all
// processes as Config.MaxTTL, if it is above 30 s. Leave Config.Prefix empty: names are keys.
// Leave Config.MaxAttempts 0. Compare errors with errors.Is and errors.As, not with ==. Then look at what is different:
//
// Waiting. Lock gives up when Redsync would: after the delays between its tries, 4.65 s by
// default, and what a try may take, 0.4 s. But it does not sleep: waiters are woken when
// the lock is free, and those of one process are served in order of arrival. A ctx with a
// deadline and WithTries(math.MaxInt) waits for the deadline.
//
// Sharing a name with Redsync. Redsync polls where an engine is woken, so engines leave a name alone
// for a moment while they see Redsync's there. With one process each, eight goroutines each that
// hold one name for 1 ms, and three masters of one machine, in ten seconds:
//
//	                               engines        Redsync       without the moment
//	Redsync, tries every 20 ms     4,980          1,981         8,178 and 167, 13 time-outs of 3 s
//	two engines, the same          3,331 + 3,220    957         4,422 + 3,839 and 45, 18 time-outs
//	Redsync's own delays           10 % of the holds are Redsync's; 0.5 % without the moment
//
// With its own delays, and a pause of 5 ms after each turn, Redsync has 2 %: try more often while
// processes are moved. The shares of the first two rows, in one process, are shown by
//
//	go test -v -run FairShare ./engine/redsync/redsynctest
//
// Hand-over. Unlock hands the lock to the next waiter of the process without asking the
// masters, for up to Config.HandOverTime in a row. Its validity may be as little as half of the
// expiry: go by Until. A lock whose Value was asked for is not handed over, so
// ask only when another mutex needs it. After a hand-over Value is empty.
//
// Validity. Until is 2 ms earlier than Redsync's.
// A lock whose Until has passed is lost for good, even if its key is still there. A master that
// was restarted does not vote on new locks for a while (Config.MastersAreDurable). Valid goes by the
// clock and asks nobody.
//
// Unlock. The end of ctx ends the wait, and not the release. ErrLockAlreadyExpired stands for
// a lock that is another's by now, too, where Redsync has ErrTaken. While a lock whose value was
// passed on to another process has validity left here, others of this process wait for it, though it was
// unlocked there.
//
// Extend. It never makes a lease shorter, and never creates a key: WithSetNXOnExtend is a new
// lock.
//
// Errors. They match what Redsync's would, and the engine's beside it, which say more:
//
//	*ErrTaken              engine.ErrTaken from Lock; engine.ErrLost or ErrNotHeld from Extend. Nodes is nil
//	*RedisError            engine.ErrNoQuorum: one for each master that gave no vote, with its place in Config.Masters
//	*ErrNodeTaken          engine.ErrNoQuorum, where some masters refused. Node is -1
//	ErrFailed              ctx ended, which is joined; or engine.ErrExpired: no validity was left
//	ErrExtendFailed        engine.ErrExpired from Extend
//	ErrLockAlreadyExpired  engine.ErrNotHeld from Unlock
//	none                   engine.ErrInvalid, ErrOverloaded, ErrClosed: nothing was sent
//
// Fencing, renewal, loss. EngineLock is the engine's lock: its Fence grows with each holder
// where Config.Fencing is set (0 for a lock of another process WithValue), KeepAlive replaces
// a goroutine that extends, Done and Context end when the lock is lost.
//
// Metrics. Engine.Stats has counters, Config.Observer events, Config.Logger what somebody should
// look at; mutexes of this package are counted like other locks. A Lock that has to wait is one
// NotAcquired and one attempt more: its first try.
//
// The module redsynctest beside this package runs one table of behaviours against Redsync
// and against this package; where they differ, it says why.
package redsync
