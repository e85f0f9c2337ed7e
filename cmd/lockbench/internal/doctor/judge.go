package doctor

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"muxlock/bench"
	"muxlock/cmd/lockbench/internal/sizing"
	"muxlock/cmd/lockbench/internal/view"
	"muxlock/internal/quorum"
	"muxlock/internal/redlock"
	"muxlock/internal/serverinfo"
)

// Bounds of what is still fine.
const (
	oldest    = 6                     // major version that knows CLIENT TRACKING
	forkMost  = 10 * time.Millisecond // a fork stops a server that long
	driftWarn = sizing.SteadySlew     // ppm
	driftFail = redlock.DefaultDrift * 1e6
	slewMost  = driftFail / 2 // ppm: one clock may be made faster while the other is made slower
	stepMost  = int64(time.Millisecond)
)

// judgeSet judges the masters together.
func judgeSet(masters []facts) (found []Finding) {
	switch n := len(masters); {
	case n == 1:
		found = append(found, Finding{Warn, "how many", nil, "one master: a lock dies with it", "use three or five, on machines of their own"})
	case n%2 == 0:
		found = append(found, Finding{Warn, "how many", nil, fmt.Sprintf("%d masters survive the loss of %d, as %d would", n, n-quorum.Size(n), n-1), "add one, or leave one out"})
	default:
		found = append(found, Finding{OK, "how many", nil, fmt.Sprintf("%d masters survive the loss of %d", n, n-quorum.Size(n)), ""})
	}
	found = append(found, same(masters, "same server", func(f facts) string { return f.info.RunID() },
		Finding{Level: Fail, Text: "are one server under several addresses: its vote would count more than once", ToDo: "name each server once"},
		"every address is another server")...)
	found = append(found, same(masters, "same machine", func(f facts) string { return f.host },
		Finding{Level: Warn, Text: "share a machine: they fail together", ToDo: "put each on a machine, or in a zone, of its own"},
		"every address is another machine")...)
	return found
}

// assumed is what nothing at the masters shows: two processes that assume different things
// may hold one lock.
func assumed(masters int, maxTTL, restartWait time.Duration) Finding {
	return Finding{OK, "assumed", nil, fmt.Sprintf("by every process: these %d masters, MaxTTL %s, and so no vote for %s after a restart",
		masters, maxTTL, restartWait.Round(100*time.Millisecond)), "compare with the line \"locks assume\" in the log of each"}
}

// same finds masters that have something in common which they should not.
func same(masters []facts, check string, of func(facts) string, bad Finding, good string) (found []Finding) {
	groups := map[string][]int{}
	var order []string
	for i, f := range masters {
		key := of(f)
		if key == "" {
			continue
		}
		if groups[key] == nil {
			order = append(order, key)
		}
		groups[key] = append(groups[key], i+1)
	}
	for _, key := range order {
		if len(groups[key]) > 1 {
			f := bad
			f.Check, f.Masters = check, groups[key]
			found = append(found, f)
		}
	}
	if len(found) == 0 && len(masters) > 1 && len(order) > 0 {
		found = append(found, Finding{OK, check, nil, good, ""})
	}
	return found
}

// judgeMaster judges one master.
func judgeMaster(f facts, restartWait time.Duration) (found []Finding) {
	add := func(level Level, check, todo, format string, args ...any) {
		found = append(found, Finding{Level: level, Check: check, Text: fmt.Sprintf(format, args...), ToDo: todo})
	}
	if f.err != nil {
		add(Fail, "reachable", "start it, or mend address, password, ACL or firewall", "%s: %v", f.addr, f.err)
		return found
	}
	info := f.info
	secured := "plain TCP"
	switch {
	case f.tls:
		secured = "TLS"
	case strings.HasPrefix(f.addr, "unix:"):
		secured = "a socket file"
	}
	add(OK, "reachable", "", "answers, over %s", secured)

	name, version := info.Product()
	major, err := strconv.Atoi(strings.SplitN(version, ".", 2)[0])
	switch {
	case err != nil:
		add(Unknown, "version", "", "it does not report its version")
	case major < oldest:
		add(Warn, "version", "run Redis 6 or later, or Valkey", "%s %s cannot wake waiters, which poll then", name, version)
	default:
		add(OK, "version", "", "%s %s", name, version)
	}

	admissible := true
	refuse := func(check, todo, format string, args ...any) {
		admissible = false
		add(Fail, check, todo, format, args...)
	}
	switch {
	case info["redis_mode"] == "sentinel":
		refuse("role", "name the masters, not the Sentinels", "is a Sentinel")
	case info.Cluster():
		refuse("role", "use servers of their own, with cluster-enabled no", "runs in cluster mode, where names move between servers")
	case info.Replica():
		refuse("role", "name its master", "is a replica (role %s): it refuses writes", info.Role())
	case info.RunID() == "":
		refuse("role", "permit INFO", "does not identify itself (no run_id in INFO)")
	default:
		add(OK, "role", "", "a master by itself, no cluster")
	}
	found = append(found, followers(f)...)
	found = append(found, eviction(info), persistence(f))

	if up, known := info.Uptime(); restartWait == 0 {
		add(OK, "uptime", "", "new: it may vote at once")
	} else if !known {
		add(Unknown, "uptime", "", "it does not report its uptime")
	} else if up < restartWait {
		add(Warn, "uptime", "wait, or set MastersAreNew (lockbench: --new-masters) if it has never granted a lock",
			"started %s ago: it casts no vote for another %s", up, (restartWait - up).Round(time.Second))
	} else {
		add(OK, "uptime", "", "up for longer than any lease that it may have forgotten")
	}

	if f.trial == nil {
		add(OK, "permissions", "", "scripts, and a trial lock taken, extended and released: all that the engine sends is permitted")
	} else if admissible {
		add(Fail, "permissions", "see Masters in `go doc ./engine`", "the engine does not admit it: %v", f.trial)
	}
	if f.tracking == nil {
		add(OK, "wake-ups", "", "CLIENT TRACKING works: waiters are notified of a release")
	} else {
		add(Warn, "wake-ups", "permit client|tracking, client|caching and pttl", "waiters poll: %v", f.tracking)
	}
	switch s := f.slow; {
	case s.err != nil:
		add(Unknown, "slow commands", "", "not known: %v", s.err)
	case s.count > 0:
		add(Warn, "slow commands", "see SLOWLOG GET; keep other work off the masters", "%d in the last hour, the longest %s: every lock waited for them", s.count, s.longest)
	default:
		add(OK, "slow commands", "", "none in the last hour")
	}
	return found
}

// followers is about replicas and whoever would promote them.
func followers(f facts) (found []Finding) {
	replicas := f.info["connected_slaves"]
	attached := replicas != "" && replicas != "0"
	switch {
	case f.watchers > 0 && attached:
		found = append(found, Finding{Fail, "failover", nil, "Sentinels watch it: a replica that is promoted knows not the latest locks, and grants them again",
			"take it out of Sentinel; a Redlock master that dies stays dead, or comes back by itself"})
	case attached:
		found = append(found, Finding{Warn, "failover", nil, replicas + " replicas are attached: safe only while nobody promotes one",
			"detach them, or see that nothing promotes them"})
	case f.watchers > 0:
		found = append(found, Finding{Warn, "failover", nil, "Sentinels watch it, with nothing to promote yet", "take it out of Sentinel"})
	case replicas == "":
		found = append(found, Finding{Unknown, "failover", nil, "it does not report whether replicas are attached", ""})
	case f.watchers < 0:
		found = append(found, Finding{OK, "failover", nil, "no replicas; whether Sentinels watch it is not known (PUBSUB is not permitted)", ""})
	default:
		found = append(found, Finding{OK, "failover", nil, "no replicas, no Sentinels", ""})
	}
	return found
}

func eviction(info serverinfo.Info) Finding {
	policy, limit := info["maxmemory_policy"], info["maxmemory"]
	switch {
	case policy == "" || limit == "":
		return Finding{Unknown, "eviction", nil, "it does not report maxmemory and its policy", ""}
	case policy == "noeviction":
		return Finding{OK, "eviction", nil, "noeviction: no lock is thrown away", ""}
	case limit == "0":
		return Finding{Warn, "eviction", nil, policy + ", without a limit of memory so far", "CONFIG SET maxmemory-policy noeviction"}
	}
	return Finding{Fail, "eviction", nil, policy + ": when memory runs out locks are thrown away that somebody holds", "CONFIG SET maxmemory-policy noeviction"}
}

func persistence(f facts) Finding {
	fork, _ := strconv.ParseInt(f.info["latest_fork_usec"], 10, 64)
	took := time.Duration(fork) * time.Microsecond
	switch fsync, known := f.config["appendfsync"]; {
	case f.info["aof_last_write_status"] == "err":
		return Finding{Fail, "persistence", nil, "it cannot write its append-only file, and refuses locks", "see its log; free the disk"}
	case f.info["aof_enabled"] == "":
		return Finding{Unknown, "persistence", nil, "it does not report whether it has an append-only file", ""}
	case took > forkMost:
		return Finding{Warn, "persistence", nil, fmt.Sprintf("its last fork, for a snapshot or a rewrite, took %s, in which nothing was answered", took), "CONFIG SET save \"\", or less memory; no transparent huge pages"}
	case f.info["aof_enabled"] == "0":
		return Finding{OK, "persistence", nil, "forgets all locks when it restarts: leave MastersAreDurable false", ""}
	case !known:
		return Finding{Unknown, "persistence", nil, "appendfsync is not known (CONFIG is not permitted): leave MastersAreDurable false", ""}
	case fsync != "always":
		return Finding{OK, "persistence", nil, "appendfsync " + fsync + ": may forget the last locks when it restarts, leave MastersAreDurable false", ""}
	}
	return Finding{OK, "persistence", nil, "appendfsync always: forgets nothing; MastersAreDurable is possible if all are so", ""}
}

// judgeProbe judges what the prober saw.
func judgeProbe(masters []bench.Master, i int) []Finding {
	m := masters[i]
	if m.RTT.Count == 0 {
		return nil // unreachable, which has been said
	}
	us := func(p string) time.Duration { return time.Duration(m.RTT.P[p]).Round(time.Microsecond) }
	trip := Finding{OK, "round trip", nil, fmt.Sprintf("p50 %s, p99 %s of %d", us("50"), us("99"), m.RTT.Count), ""}
	switch {
	case m.Lost > 0:
		trip.Level, trip.Text = Warn, fmt.Sprintf("%s; %d got no answer", trip.Text, m.Lost)
		trip.ToDo = "see the network, and whether it stalls"
	case view.Slow(masters, i):
		trip.Level, trip.ToDo = Warn, "nearer, or on a faster machine; it decides nothing as long as a majority is faster"
	}
	clock := Finding{OK, "clock", nil, fmt.Sprintf("off by less than %d ppm, no step", driftWarn), ""}
	switch c := m.Clock; {
	case c == nil:
		clock.Level, clock.Text = Unknown, "not known: TIME is not permitted, or too few answers"
	case c.JumpNs > stepMost:
		clock.Level, clock.Text = Warn, view.Clock(c)+": a step forward ends leases early"
		clock.ToDo = "let its time daemon slew, not step; look again for longer (--for 1m)"
	case math.Abs(c.PPM)-c.PPMError > driftFail:
		clock.Level, clock.Text, clock.ToDo = Fail, view.Clock(c)+": more than the engine allows for", "mend its clock, or raise Drift"
	case math.Abs(c.PPM)-c.PPMError > driftWarn:
		clock.Level, clock.Text, clock.ToDo = Warn, view.Clock(c), "see its time daemon"
	case c.PPMError > driftWarn:
		clock.Level, clock.Text, clock.ToDo = Unknown, view.Clock(c), "look for longer: --for 30s"
	}
	return []Finding{trip, clock}
}
