// Package serverinfo reads a server's reply to INFO, for the engine's admission of a master and for lockbench.
package serverinfo

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Info is the fields of a reply to INFO. A field that the server does not report is absent.
type Info map[string]string

// Parse reads a reply to INFO, with all sections or some.
func Parse(text string) Info {
	info := make(Info)
	for line := range strings.Lines(text) {
		if key, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			info[key] = value
		}
	}
	return info
}

// RunID returns the run_id, which is new with every start of the server, or "".
func (i Info) RunID() string { return i["run_id"] }

// ProcessID returns the process id on the server's machine.
func (i Info) ProcessID() (int, error) {
	id, err := strconv.Atoi(i["process_id"])
	if err != nil {
		return 0, fmt.Errorf("INFO names no process_id: %w", err)
	}
	return id, nil
}

// Product returns redis or valkey, and the version, or "".
func (i Info) Product() (name, version string) {
	if version := i["valkey_version"]; version != "" {
		return "valkey", version
	}
	return "redis", i["redis_version"]
}

// Uptime returns how long the server says it has been up, by its wall clock. It returns 0 and false if the server does not
// say.
func (i Info) Uptime() (up time.Duration, known bool) {
	const most = math.MaxInt64 / int64(time.Second)
	seconds, err := strconv.ParseInt(i["uptime_in_seconds"], 10, 64) // 0, or the nearest, if it fails
	return time.Duration(min(max(seconds, 0), most)) * time.Second, err == nil
}

// Loading reports whether the server still reads its data set from disk.
func (i Info) Loading() bool { return i["loading"] != "" && i["loading"] != "0" }

// Cluster reports whether the server runs in cluster mode, in which names move between servers.
func (i Info) Cluster() bool { return i["cluster_enabled"] == "1" }

// Sentinel reports whether the server is a Sentinel, which keeps no data.
func (i Info) Sentinel() bool { return i["redis_mode"] == "sentinel" }

// Unusable returns why the server can be no master as long as it runs as it does, and what to do; nil: it can.
func (i Info) Unusable() error {
	switch {
	case i.Sentinel():
		return errors.New("is a Sentinel: name the masters, not the Sentinels")
	case i.Cluster():
		return errors.New("runs in cluster mode, where names move between servers: name servers with cluster-enabled no")
	case i.RunID() == "":
		return errors.New("INFO has no run_id, which shows restarts: name servers of Redis or Valkey (for tests there is package enginetest)")
	}
	return nil
}

// Evicts reports whether the server drops keys when its memory is full.
func (i Info) Evicts() bool {
	policy := i["maxmemory_policy"]
	return i["maxmemory"] != "" && i["maxmemory"] != "0" && policy != "" && policy != "noeviction"
}

// Role returns master or slave, or "".
func (i Info) Role() string { return i["role"] }

// Replica reports whether the server replicates another one.
func (i Info) Replica() bool { return i.Role() != "" && i.Role() != "master" }

// ReplID returns the name of the server's data set, or "".
func (i Info) ReplID() string { return i["master_replid"] }

// WasReplica reports whether a master remembers that it was a replica before its ReplID.
func (i Info) WasReplica() bool {
	offset := i["second_repl_offset"]
	return offset != "" && offset != "-1"
}

// Received returns, as text, how many bytes the server has received as a replica since its start. It returns "" before
// Redis 7.0, which does not report it.
func (i Info) Received() string { return i["total_net_repl_input_bytes"] }

// DatabasesSwapped returns, as text, how many times SWAPDB was called since the server's start, or "".
func (i Info) DatabasesSwapped() string {
	_, calls, _ := strings.Cut(i["cmdstat_swapdb"], "calls=")
	calls, _, _ = strings.Cut(calls, ",")
	return calls
}
