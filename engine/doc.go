// Package engine gives out locks on N independent Redis masters. It implements Redlock, and
// multiplexes the calls of all goroutines onto one connection per master.
//
//	locks, err := engine.New(ctx, engine.Config{Masters: []string{"10.0.0.1:6379", "10.0.0.2:6379", "10.0.0.3:6379"}})
//	...
//	err = locks.Do(ctx, "invoice:42", 10*time.Second, func(ctx context.Context) error {
//		... // the lock is kept alive meanwhile; ctx ends when it is lost
//	})
//
// Or hold the lock yourself:
//
//	lock, err := locks.Acquire(ctx, "invoice:42", 10*time.Second) // waits until ctx ends
//	if err != nil {
//		return err // errors.Is: engine.ErrTaken, engine.ErrNoQuorum, ctx's error
//	}
//	defer lock.Release(ctx)
//	if err := lock.KeepAlive(time.Hour); err != nil { // without it the lock lives for 10 s, or as Extend says
//		return err
//	}
//	for lock.Valid() { // or select on lock.Done(), or work under lock.Context(ctx)
//		...
//	}
//	return lock.Err() // why the lock was lost
//
// # What a lock promises
//
// At most one holder per name is Valid at any moment, as long as:
//
//   - the clocks of masters and clients run at rates within Config.Drift of each other,
//   - no master forgets a key that it granted (see below),
//   - all clients use the same set of masters, and
//   - nothing else writes to the lock's key.
//
// A crashed holder blocks others for at most its ttl (the longest it asked for), or for the rest of a
// lease that was handed over to it. Locks can be acquired while a majority of the masters is up and
// votes; Ready waits for that.
//
// # What it does not promise
//
// A process may be stopped between its last check and its write, and write after its lease has run
// out. No lease of any lock service prevents that. A fencing token does, if the resource checks it
// (Config.Fencing, Lock.Fence, package fence).
//
// FLUSHALL and eviction (maxmemory with any policy but noeviction) lose locks. With Fencing a
// flushed master gives no votes until it is admitted again. A restart loses locks, too. So a
// restarted master is sent no acquires for a little longer than MaxTTL. Config.MastersAreDurable
// and Config.MastersAreNew skip that wait.
//
// A promoted replica is no master: do not point an address at something that fails over. The engine
// checks whether a server was a replica meanwhile: before each send if the last check is 0.2 s old,
// and every 8 s while it sends nothing. Grants of such a server still count within 0.2 s of a check,
// or if their requests were already on the way.
//
// On Linux the local clock runs on while the machine sleeps. Locks that ran out meanwhile are lost
// at wake-up. On macOS the clock stands still: such a lock seems valid for the time that it had left.
//
// # Life of a lock
//
// A name is any text of 1 to 512 bytes, Config.Prefix included; a longer one is ErrInvalid.
//
// Acquire sends SET name token NX PX ttl to all masters. It wins when a quorum, N/2+1, granted the
// lock and validity is left. Validity is ttl, less the time since before the first send, less
// ttl*Drift+2ms. Waiting in this process's queue does not count. A failed attempt is undone on all
// masters, and repeated with a fresh token. Valid, Err, Done and Context go by the local clock
// alone. Extend and the renewals of KeepAlive move the end of validity out. Release deletes the
// key wherever it still has our token.
//
// A lock is lost, with ErrLost, when:
//
//   - validity runs out (failed renewals are tried again until then),
//   - a majority of the masters answers that the key is gone or another's, or
//   - the engine is closed.
//
// A master that waits after a restart does not count among that majority: it has lost its data, and knows nothing. So if a
// majority of the masters was restarted, the loss is noticed when validity ends, not at the next renewal.
//
// A lost lock never comes back: extend creates no key, and an extend that is answered too late is
// undone. WarnBefore warns before validity ends, and again after each extend that moved the end.
// HeldOn returns how many masters still have the key.
//
// A lock that is held for long regains the masters that it lost: those that were restarted empty, or were away for longer
// than its ttl. After an extend, masters that vote and have no key are asked for the lock again, with its token. That is
// no vote, and moves no validity; the next extend counts it. When a master votes again, the locks that it lacks are renewed
// within a second. So a lock outlasts the restart of every master, one after another, each once all vote and Stats.Eroded is 0.
// Waiters in line leave such a master's key to the holder. Not healed are locks younger than a quarter of their ttl, those
// whose token other processes may know (Lock.Reveal, Adopt), and, in package groups, names that move. Processes of older
// versions do not heal. Their waiters take the freed keys, and several keep them from the lock: it stays eroded. Update in
// any order, and restart masters afterwards.
//
// # Fencing
//
// With Config.Fencing every holder gets a number, Lock.Fence, larger than the number of every
// earlier holder of the name. A resource keeps the largest number it has seen and refuses a smaller
// one. That protects it from a holder that lost its lock and does not know it yet. The numbers grow
// across processes, hand-overs, restarts, flushes and copies of a minority of the masters, and
// replaced masters. Their order depends on no clock that can be set. It depends on clock rates only
// while a master that lost its data waits to be admitted again.
//
// Each master has 4,096 registers. Names share them, and they only grow. A master raises the name's
// register in the step in which it grants a lock. The token of an acquire is the largest of a
// quorum's grants. It counts only when a quorum of the granting masters stores it. Nearly always the
// grants themselves store it; otherwise one more round trip raises it (Stats.FencesRaised). Every
// later quorum contains one of these masters, which grants a larger token. A fence is the token
// times 65,536, plus the lease's hand-overs within the process. It stays below 2^53, where a JSON or
// Lua number is exact.
//
// Set the masters up once: muxlock masters init, or admin.SetUp. Each then stores which set it
// belongs to, and a mark. The mark names the member, its server process and its admission. A process
// that starts uses a marked master at once; neither uptime nor MastersAreNew matters. Every answer
// to an acquire or extend carries the mark, and counts only with the mark that the engine knows. So
// a master that was restarted, flushed or copied from another one gives no vote, not even to a
// process that was stopped meanwhile. Extends of adopted locks are no exception.
//
// The engines admit such a master by themselves. It waits for MaxTTL*(1+Drift) + 1s + 2ms, then gets
// the registers of N-q+1 other masters. N is the number of masters, and q a quorum, N/2+1. Every
// quorum contains one of any N-q+1 masters. On Linux the master stores when its wait began, by the
// client's CLOCK_BOOTTIME and boot id. So short-lived processes finish a wait that others on the
// same machine began. With MastersAreDurable a restarted master votes at once if its earlier mark
// names it: the data are its own.
//
// If fewer than N-q+1 others have their registers, no time helps: the log says so at level Error, once.
// Masters that are away must come back with their data. If they cannot, a majority was lost. Then run
// muxlock masters init --recover, with the largest fence that any resource has seen, and restart all
// processes with Fencing. Without that fence, a set that
// is set up again begins above 16 tokens for each second since 1970: a second line of defence, not a
// promise.
//
// Fencing needs two things. Nobody writes to the keys that begin with __muxlock__:, and all
// processes name the masters with the same addresses (ErrConfigMismatch has the differing fields).
// Processes without Fencing, and Redsync, on the same masters are excluded as before and have no
// fence. A running server can return to an older state of its own data: by SWAPDB there and back,
// REPLICAOF a copy of itself, or DEBUG RELOAD. Only engines that checked it in between (above)
// notice, so no ACL should allow these commands.
//
// A process without Fencing reads the set of each master, too, when it connects. A master casts no vote
// for it if it is of another set than most of Config.Masters, or if its set has another number of members
// or a smaller MaxTTL; the spelling of addresses does not matter. ErrConfigMismatch comes once too few
// masters remain. Not seen are processes with Redsync or an earlier engine, a set made after the
// connection, until the next one, and the set of a master that lost its data or denies the reads. A set
// can be given up (engine/README.md).
//
// A register is used up after 1.4e11 tokens, less its initial value. One name does that when it is
// locked at the masters 3,500 times a second for a year, or 35 times a second for a century. From
// then on, names of that register get ErrRegister; engine/README.md has the remedy.
//
// # Waiting
//
// Goroutines of one engine that want the same name queue in order of arrival. Only the first asks
// the masters. Release hands the lock over to the next without a request, for up to
// Config.HandOverTime. Then the lock is released at the masters, and other processes have their
// turn. If other processes are known to stand in line, the turn ends sooner: it is for the callers
// who waited when it began and one more, and for others only within the time of eight attempts. A
// lock whose token was revealed is never handed over, because others may release it with that token
// at any time.
//
// A ctx bounds wait and work alike, and WithWait the wait alone.
//
// After a refusal, or a second split vote, a contender does not poll. It waits until the masters
// notify it that the key has changed, or until the lease runs out. Notification uses client
// tracking, over a second connection to each master, opened when it is first needed. Where masters
// cannot notify (an old server, an ACL without client|tracking and client|caching), the contender
// asks again every Config.RetryHeld. Where more names are tracked than tracking-table-max-keys, the
// notifications say nothing. Then a contender outside of a line learns of a release up to 1 s late.
//
// Contenders of several processes stand in line at the masters, from the first refusal on. Release
// passes the lock to the next in line: each master sets that contender's token and notifies its
// process. The process holds the lock once a quorum of masters has done so. That takes one round
// trip and wakes nobody else, however many wait. So processes get a name in the order in which their
// callers came. A caller may be overtaken by one that came at nearly the same time (paths to the
// masters differ), by hand-overs within a process, and by another library's client. A name that only
// one process wants costs no extra command.
//
// A process in line asks for the lock long before it is free. So validity counts from before the
// request that the grant answers. A lock that is passed on has a short lease: two thirds of ttl, at most
// 2.4 s. If a waiter's machine vanishes at its turn, the others wait that long. After 5 ms the engine
// extends the lease to ttl, once, even without KeepAlive. A waiter asks again after 0.5 s to 1 s, less
// often the longer it has waited; with a ttl below 6 s after a sixth of it at most, and after 8 ms at
// least. The first in line watches the name as above, since a holder that dies passes nothing on.
//
// With Config.MaxAttempts, a place in line is one attempt, however long it takes.
//
// There is no line for TryAcquire, with a Config.MaxAttempts of 1, for a ttl below 10 ms, for readers
// and Sets, or while fewer than a quorum of masters can keep one: a line needs RESP3 and rights
// (Masters, below; admin.Check says what is missing). Contenders back off from each other then. If the name is free several times
// in a row sooner than somebody could have held it, they back off for longer, up to the time of 32
// attempts.
//
// Clients of other libraries poll. They would hardly ever find a name free that engines pass on. So
// engines leave it open for 10 ms at times: twice in a second of its use, and twenty times a second
// for ten seconds after they saw a token of another library. Without a line, an engine that held the
// name before and is now refused looks at the holder's token. If it is another library's, the engine
// gives way for two seconds. Before it asks, it leaves the name alone for an eighth to a quarter of
// Config.HandOverTime, up to four times in a row (package engine/redsync has figures).
//
// # Many names
//
// AcquireMany makes one attempt for each of many names, and ReleaseMany releases many locks. The names
// share rounds: one goroutine locks a page of a thousand rows in two thirds of the time that a thousand
// goroutines need for one row each.
//
// # All names or none
//
//	err := locks.DoAll(ctx, []string{"account/7", "account/9"}, 10*time.Second, func(ctx context.Context, set *engine.Set) error {
//		... // nobody else has either
//	})
//
// AcquireAll acquires a Set of names. Each master grants all of them or none in one step. So a Set costs
// the round trip of one lock, and is never half held. To everybody else each name is an ordinary lock,
// with a fencing token of its own. A Set is valid while all of its locks are. While a caller waits for a
// Set, it holds none of the names. So overlapping Sets never deadlock, in any order of names.
//
// A Set does not promise fairness towards callers that want one of its names. Callers in other processes
// stand in line for that name. The Set waits until the line is empty, or until a holder leaves the name
// open, twice a second. Beside a line that is never empty its longest waits take one to three seconds. If
// the names are never free at the same moment, the Set waits until ctx ends.
//
// # Readers and writers
//
//	err := locks.DoShared(ctx, "catalogue", 10*time.Second, func(ctx context.Context) error {
//		... // others may read, and nobody writes
//	})
//
// AcquireShared acquires a name as a reader. Any number of readers hold it at once, in any processes. A
// writer (Acquire, or any of the other calls) excludes them all. The promise of a lock holds for readers,
// too, under the same assumptions: while a reader is Valid, no writer is.
//
// A writer queues in its process, and stands in line between processes, as for any lock. While it waits for
// readers, new readers are refused, so it waits only for current ones. If it gives up, new readers get in a
// quarter of a second later. Readers that wait in one process are let in together. After a writer that kept
// readers out, its process leaves the name to readers before it asks again: 1.5 times as long, at most 20 ms.
//
// There is no promised order between readers and writers of different processes. Where writers pass a name on,
// readers get in when a holder leaves the name open, twice a second on average. Beside busy writers a reader may
// wait for seconds.
//
// A reader has no fencing token: its Fence is 0. Readers overlap, so no number can put them in order, and a
// resource that kept a reader's number as its largest would refuse the next writer. With Fencing a reader's
// votes count only from masters that have their mark.
//
// Redsync and muxlock before November 2026 have no readers. Their locks and readers exclude each other, but
// new readers still get in while such a client waits.
//
// # Permits
//
//	err := locks.DoPermit(ctx, "invoice-printer", 8, 10*time.Second, func(ctx context.Context) error {
//		... // at most 8 callers of all processes are here
//	})
//
// AcquirePermit acquires one of up to 64 permits of a name. Each permit is a slot (Lock.Slot), and each slot
// a lock with a key of its own. So a permit is renewed, lost, released and fenced as a lock is; fences of
// different slots have no order. No master counts permits: counts that differ would admit too many holders.
// A permit cannot be adopted. admin.InspectPermit shows the holders.
//
// A caller asks for eight slots at first, then for all. Each master grants the first of them that is free.
// Refused callers of one process queue in order; one of them may be overtaken while it asks the masters.
// There is no fairness among processes. A waiter is woken by a release in its process, or by that of a slot
// that it picked at random. It also asks for all slots now and then: every Config.RetryHeld at first, later
// once in up to 8 times that.
//
// # Leader election
//
//	err := locks.Lead(ctx, "scheduler", 15*time.Second, func(ctx context.Context, lock *engine.Lock) error {
//		... // this process leads until ctx ends, 5 s before another one can
//	})
//
// Lead is for work that one process of many does for as long as it lives, and then another. Every
// process calls Lead: one runs the function, the others wait. The next leader follows at once when a
// leader returns, and after at most its ttl when it crashes. As with any lease, a leader that was
// stopped for longer than its ttl goes on until it notices, beside the next one: give each write the
// lock's Fence. LockFrom finds the lock in the ctx. admin.Inspect shows the leader's Config.Holder.
//
// # Who holds a lock
//
// Package admin asks the masters who holds a name, and for how long (Inspect). It shows the
// Config.Holder of the holder's process, the last part of the lock's token. ForceRelease deletes the
// lock that Inspect found, and no later one. muxlock status and release do both. Adopt makes a
// handle from a token that another process revealed, for work that begins in one process and ends
// in another.
//
// # Errors
//
// ErrTaken: somebody holds the lock, or several callers split the votes. ErrNoQuorum: too few
// masters answered. ErrLost: the lock was ours and is no longer. ErrInvalid: the call was wrong, and
// nothing was sent; or New's masters cannot be used as configured. AttemptError has the votes and
// each failing master's MasterError. Every text is one line. errors.Is and errors.As find all its
// parts.
//
// # Masters
//
// Config.Masters takes host:port (IPv6 as [::1]:6379), redis://user:password@host:port/db,
// rediss://... for TLS (?skip_verify=true for tests only) and
// unix://user:password@/path/to/socket?db=1. A password without a user is
// redis://:password@host:port. Parts of a URL override Config.Client, which also takes
// certificates, a private CA, credentials that change and a dialer. Errors show addresses, never
// passwords.
//
// These are the least permissions that a user needs in the ACL, on Redis 7.0, for locks named
// locks:... A master that lacks one of them is away, with the reason. If the others are too few, New
// fails with ErrInvalid. The second key pattern is for permits, and for the trial lock of a probe:
//
//	ACL SETUSER locks on '>PASSWORD' ~locks:* ~__muxlock__:* -@all +info +script|load +evalsha +set +get +del +pttl +pexpire
//
// These make it faster: mget for many releases at once, msetnx for Sets. Without the other two,
// waiters poll every Config.RetryHeld:
//
//	ACL SETUSER locks +mget +msetnx +client|tracking +client|caching
//
// Readers need these. Without them a lone reader is let in but cannot be extended, so it is lost when its
// lease ends, and others beside it get ErrDenied:
//
//	ACL SETUSER locks +zadd +zrem +zrange +zscore +zcard +zremrangebyscore +pexpireat +time
//
// With these, processes that want one name stand in line for it (Waiting, above). A user who may
// publish on these channels can grant locks, as a user who may write the keys can:
//
//	ACL SETUSER locks +zadd +zrem +zrange +zrank +zcard +hset +hget +hdel +time +publish +subscribe &__muxlock__:*
//
// Config.Fencing needs these, too:
//
//	ACL SETUSER locks +mget +msetnx +hget +hset +hmget +hgetall
//
// Newer servers do the same work in less time with these; Valkey has delifeq instead of delex:
//
//	ACL SETUSER locks +msetex +delex
//
// Each new connection tries what is not needed, and then does without what was denied. So an engine
// learns of new rights when it connects again; of client|tracking also within ten minutes or so of use.
//
// AUTH and HELLO need no permission. A database other than 0 needs +select. From Redis 7.2 on
// CLIENT SETINFO is refused, without harm; +client|setinfo allows it.
//
// # Which servers
//
// The engine locks on Redis and Valkey, as independent masters, with the commands of Redis 6.0. It
// refuses a cluster, which moves names. All tests run on Redis 7.0.15, Redis 8.6.3 and Valkey
// 9.1.2. Where a server has MSETEX (Redis from 8.4, Valkey from 9.1), many acquires are one
// command. Where it has DELEX (Redis from 8.4) or DELIFEQ (Valkey from 9.0), releases need no
// script. Each new connection tries both; an ACL without them turns them off. Scripts (EVALSHA) and
// INFO with a run_id are needed in any case. A server that refuses HELLO is spoken to in RESP2.
//
// A set has the throughput of its slowest master. Package groups spreads the names over several sets.
//
// admin.Check and muxlock doctor report whatever makes locks on the masters unsafe or slow. A
// service can refuse to start on a bad set.
//
// # Beside Redsync
//
// Processes with Redsync and processes with this package exclude each other on the same masters,
// when names, database and the set of masters are equal. Config.MaxTTL must cover Redsync's expiry,
// 8 s by default. Lock.Reveal returns a value for redsync.WithValue, and Adopt takes the Value of a
// redsync.Mutex. Package engine/redsync has Redsync's mutex over an engine, for services that
// migrate.
//
// # Sizing from your own process
//
// The lease that you need follows from your code's hold times and your process's pauses. No load
// generator knows either. Config.Measure records both since New, and acquire times;
// Engine.Measured returns them. Serve them as JSON beside your metrics, let the process do a day's
// work, and give the file to lockbench advise --from. It says which TTL, timeouts and delays to
// choose, and how often they will still be wrong.
//
// # Testing with it
//
// Package enginetest gives unit tests a real engine on masters in the test's own process. A test
// needs no servers and takes a few milliseconds, in real time or in a testing/synctest bubble. It
// decides when masters are down, slow or restarted, when names are refused, and when locks are
// lost. A service that takes an *Engine needs no other double.
//
// # Watching it
//
// Stats has counters and the present state. Config.Observer gets single events, with names and
// durations. Config.Logger gets events that an operator should see. Both run on a goroutine of their own
// and may be slow; the events that they miss are counted. Alert on locks lost, on kept locks that a voting
// master lacks for a minute (Stats.Eroded), on attempts without a quorum, and on fewer voting masters than
// one more than a quorum: the next failure stops all locks. Packages lockprom and lockotel, modules of their
// own, export all of it to Prometheus and
// OpenTelemetry, with these alerts and a dashboard.
package engine
