package admin

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"muxlock/internal/quorum"
	"muxlock/internal/serverinfo"
)

// Bounds of what is still fine.
const (
	oldest   = 6                     // major version that knows CLIENT TRACKING
	forkMost = 10 * time.Millisecond // a fork stops a server that long

	idleCheck   = 8       // seconds; an idle engine sends a check that often
	leastBuffer = 1 << 20 // bytes that an engine under load may have to read
)

// ofSet judges the masters together.
func ofSet(masters []facts) (found []Finding) {
	switch n := len(masters); {
	case n == 1:
		found = append(found, Finding{LevelWarn, "how many", nil, "one master: a lock dies with it", "use three or five, on machines of their own"})
	case n%2 == 0:
		found = append(found, Finding{LevelWarn, "how many", nil, fmt.Sprintf("%d masters survive the loss of %d, as %d would", n, n-quorum.Size(n), n-1), "add one, or leave one out"})
	default:
		found = append(found, Finding{LevelOK, "how many", nil, fmt.Sprintf("%d masters survive the loss of %d", n, n-quorum.Size(n)), ""})
	}
	found = append(found, same(masters, "same server", func(f facts) string { return f.info.RunID() },
		Finding{Level: LevelFail, Text: "are one server under several addresses: its vote would count more than once", ToDo: "name each server once"},
		"every address is another server")...)
	found = append(found, same(masters, "same machine", func(f facts) string { return f.host },
		Finding{Level: LevelWarn, Text: "share a machine: they fail together", ToDo: "put each on a machine, or in a zone, of its own"},
		"every address is another machine")...)
	return found
}

// same finds masters with an equal property, where each should have its own.
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
		found = append(found, Finding{LevelOK, check, nil, good, ""})
	}
	return found
}

// ofMaster judges one master.
func ofMaster(f facts) (found []Finding) {
	add := func(level Level, check, todo, format string, args ...any) {
		found = append(found, Finding{Level: level, Check: check, Text: fmt.Sprintf(format, args...), ToDo: todo})
	}
	if f.err != nil {
		add(LevelFail, "reachable", "start it, or mend address, password, ACL or firewall", "%s: %v", f.address, f.err)
		return found
	}
	info := f.info
	add(LevelOK, "reachable", "", "answers, over %s", f.secured)

	name, version := info.Product()
	major, err := strconv.Atoi(strings.SplitN(version, ".", 2)[0])
	switch {
	case err != nil:
		add(LevelUnknown, "version", "", "it does not report its version")
	case major < oldest:
		add(LevelWarn, "version", "run Redis 6 or later, or Valkey", "%s %s cannot wake waiters, which poll then", name, version)
	default:
		add(LevelOK, "version", "", "%s %s", name, version)
	}

	admissible := true
	refuse := func(check, todo, format string, args ...any) {
		admissible = false
		add(LevelFail, check, todo, format, args...)
	}
	switch {
	case info.Sentinel():
		refuse("role", "name the masters, not the Sentinels", "is a Sentinel")
	case info.Cluster():
		refuse("role", "use servers of their own, with cluster-enabled no", "runs in cluster mode, where names move between servers")
	case info.Replica():
		refuse("role", "name its master", "is a replica (role %s): it refuses writes", info.Role())
	case info.RunID() == "":
		refuse("role", "permit INFO", "does not identify itself (no run_id in INFO)")
	default:
		add(LevelOK, "role", "", "a master by itself, no cluster")
	}
	found = append(found, followers(f), eviction(info), persistence(f), vote(f.seen, f.stuck))

	if why := away(f.seen); why == nil {
		add(LevelOK, "permissions", "", "scripts, and a trial lock taken, extended and released; the commands of readers are not tried")
	} else if admissible {
		add(LevelFail, "permissions", "see Rights in engine/README.md", "the engine does not admit it: %v", why)
	}
	if f.tracking == nil {
		add(LevelOK, "wake-ups", "", "CLIENT TRACKING works: waiters are notified of a release")
	} else {
		add(LevelWarn, "wake-ups", "permit client|tracking, client|caching and pttl", "waiters poll: %v", f.tracking)
	}
	switch {
	case f.seen.Lines:
		add(LevelOK, "lines", "", "processes that want one name stand in line, and a release wakes the next")
	case f.seen.NoLine != nil:
		add(LevelWarn, "lines", "permit the commands and channels of lines, see Rights in engine/README.md", "a release wakes all processes that want the name: %v", f.seen.NoLine)
	}
	found = append(found, f.limits()...)
	switch s := f.slow; {
	case s.err != nil:
		add(LevelUnknown, "slow commands", "", "not known: %v", s.err)
	case s.count > 0:
		add(LevelWarn, "slow commands", "see SLOWLOG GET; keep other work off the masters", "%d in the last hour, the longest %s: locks that needed this master waited", s.count, s.longest)
	default:
		add(LevelOK, "slow commands", "", "none in the last hour")
	}
	return found
}

// followers judges replicas, and whoever would promote them.
func followers(f facts) Finding {
	replicas := f.info["connected_slaves"]
	attached := replicas != "" && replicas != "0"
	switch {
	case f.watchers > 0 && attached:
		return Finding{LevelFail, "failover", nil, "Sentinels watch it: a replica that is promoted knows not the latest locks, and grants them again",
			"take it out of Sentinel; a Redlock master that dies stays dead, or comes back by itself"}
	case attached:
		return Finding{LevelWarn, "failover", nil, replicas + " replicas are attached: safe only while nobody promotes one",
			"detach them, or see that nothing promotes them"}
	case f.watchers > 0:
		return Finding{LevelWarn, "failover", nil, "Sentinels watch it, with nothing to promote yet", "take it out of Sentinel"}
	case replicas == "":
		return Finding{LevelUnknown, "failover", nil, "it does not report whether replicas are attached", ""}
	case f.watchers < 0:
		return Finding{LevelOK, "failover", nil, "no replicas; whether Sentinels watch it is not known (PUBSUB is not permitted)", ""}
	}
	return Finding{LevelOK, "failover", nil, "no replicas, no Sentinels", ""}
}

func eviction(info serverinfo.Info) Finding {
	policy, limit := info["maxmemory_policy"], info["maxmemory"]
	switch {
	case policy == "" || limit == "":
		return Finding{LevelUnknown, "eviction", nil, "it does not report maxmemory and its policy", ""}
	case policy == "noeviction":
		return Finding{LevelOK, "eviction", nil, "noeviction: no lock is thrown away", ""}
	case limit == "0":
		return Finding{LevelWarn, "eviction", nil, policy + ", without a limit of memory so far", "CONFIG SET maxmemory-policy noeviction"}
	}
	return Finding{LevelFail, "eviction", nil, policy + ": when memory runs out locks are thrown away that somebody holds", "CONFIG SET maxmemory-policy noeviction"}
}

func persistence(f facts) Finding {
	fork, _ := strconv.ParseInt(f.info["latest_fork_usec"], 10, 64)
	took := time.Duration(fork) * time.Microsecond
	fsync := f.config["appendfsync"]
	switch durable, known := f.durable(); {
	case f.info["aof_last_write_status"] == "err":
		return Finding{LevelFail, "persistence", nil, "it cannot write its append-only file, and refuses locks", "see its log; free the disk"}
	case f.info["aof_enabled"] == "":
		return Finding{LevelUnknown, "persistence", nil, "it does not report whether it has an append-only file", ""}
	case took > forkMost:
		return Finding{LevelWarn, "persistence", nil, fmt.Sprintf("its last fork, for a snapshot or a rewrite, took %s, in which nothing was answered", took), "CONFIG SET save \"\", or less memory; no transparent huge pages"}
	case f.info["aof_enabled"] == "0":
		return Finding{LevelOK, "persistence", nil, "forgets all locks when it restarts: leave MastersAreDurable false", ""}
	case !known:
		return Finding{LevelUnknown, "persistence", nil, "appendfsync is not known (CONFIG is not permitted): leave MastersAreDurable false", ""}
	case fsync != "always":
		return Finding{LevelOK, "persistence", nil, "appendfsync " + fsync + ": may forget the last locks when it restarts, leave MastersAreDurable false", ""}
	case !durable:
		return Finding{LevelOK, "persistence", nil, "no-appendfsync-on-rewrite: may forget the last locks when it restarts during a snapshot or a rewrite, leave MastersAreDurable false", ""}
	}
	return Finding{LevelOK, "persistence", nil, "appendfsync always: forgets nothing; MastersAreDurable is possible if all are so", ""}
}

// limits judges the limits at which a server closes connections, or forgets whom to notify.
func (f facts) limits() (found []Finding) {
	if len(f.config) == 0 {
		return []Finding{{LevelUnknown, "limits", nil, "timeout, maxclients, output buffers and the tracking table are not known (CONFIG is not permitted)", ""}}
	}
	warn := func(todo, format string, args ...any) {
		found = append(found, Finding{LevelWarn, "limits", nil, fmt.Sprintf(format, args...), todo})
	}
	number := func(text string) int64 { n, _ := strconv.ParseInt(text, 10, 64); return n }
	if idle := number(f.config["timeout"]); idle > 0 && idle <= idleCheck {
		warn("CONFIG SET timeout 0, or more than 8", "closes connections that are idle for %d s: an idle engine connects again that often", idle)
	}
	if most, now := number(f.config["maxclients"]), number(f.info["connected_clients"]); most > 0 && now*10 >= most*9 {
		warn("raise maxclients, or close connections", "%d of at most %d clients are connected: further processes are refused", now, most)
	}
	classes := strings.Fields(f.config["client-output-buffer-limit"]) // class, hard limit, soft limit, seconds
	for i := 0; i+1 < len(classes); i += 4 {
		if hard := number(classes[i+1]); hard > 0 && hard < leastBuffer && (classes[i] == "normal" || classes[i] == "pubsub") {
			warn("CONFIG SET client-output-buffer-limit \""+classes[i]+" 33554432 8388608 60\"", "closes %s connections with more than %d bytes to read: an engine under load may have them", classes[i], hard)
		}
	}
	if most, now := number(f.config["tracking-table-max-keys"]), number(f.info["tracking_total_keys"]); most > 0 && now*10 >= most*9 {
		warn("raise tracking-table-max-keys", "its table of tracked names is full, %d of %d, by %s clients: waiters are woken in vain, and read rarely", now, most, f.info["tracking_clients"])
	}
	if found == nil {
		found = []Finding{{LevelOK, "limits", nil, "timeout, maxclients, output buffers and the tracking table are wide enough", ""}}
	}
	return found
}

// durable reports whether a master writes each command to disk before it answers, and whether that is known.
func (f facts) durable() (durable, known bool) {
	fsync, knownSync := f.config["appendfsync"]
	rewrite, knownRewrite := f.config["no-appendfsync-on-rewrite"] // yes: no fsync during a snapshot or a rewrite
	switch {
	case f.info["aof_enabled"] == "0":
		return false, true
	case f.info["aof_enabled"] == "":
		return false, false
	case knownSync && fsync != "always":
		return false, true
	}
	return fsync == "always" && rewrite == "no", knownSync && knownRewrite
}
