// Package serverinfo reads what a server reports of itself in its reply to INFO. It is
// the one reading of it, for the engine's admission of a master as for lockbench.
package serverinfo

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Info is the fields of a reply to INFO; what a server does not report is absent.
type Info map[string]string

// Parse reads the reply to INFO, of all sections or some.
func Parse(text string) Info {
	info := make(Info)
	for line := range strings.Lines(text) {
		if key, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			info[key] = value
		}
	}
	return info
}

// RunID is new with every start of the server; "" if it is not reported.
func (i Info) RunID() string { return i["run_id"] }

// ProcessID is the server's, on its own machine.
func (i Info) ProcessID() (int, error) {
	id, err := strconv.Atoi(i["process_id"])
	if err != nil {
		return 0, fmt.Errorf("INFO names no process_id: %w", err)
	}
	return id, nil
}

// Product returns redis or valkey, and the version; "" if that is not reported.
func (i Info) Product() (name, version string) {
	if version := i["valkey_version"]; version != "" {
		return "valkey", version
	}
	return "redis", i["redis_version"]
}

// Uptime returns how long the server reports that it has been up. It follows the server's
// wall clock. 0 and false if it is not reported.
func (i Info) Uptime() (up time.Duration, known bool) {
	const most = math.MaxInt64 / int64(time.Second)
	seconds, err := strconv.ParseInt(i["uptime_in_seconds"], 10, 64) // 0, or the nearest, if it fails
	return time.Duration(min(max(seconds, 0), most)) * time.Second, err == nil
}

// Loading reports whether the server still reads its data set from disk.
func (i Info) Loading() bool { return i["loading"] != "" && i["loading"] != "0" }

// Cluster reports whether the server runs in cluster mode, where names move between
// servers.
func (i Info) Cluster() bool { return i["cluster_enabled"] == "1" }

// Evicts reports whether the server drops keys when its memory is full.
func (i Info) Evicts() bool {
	policy := i["maxmemory_policy"]
	return i["maxmemory"] != "" && i["maxmemory"] != "0" && policy != "" && policy != "noeviction"
}

// Role returns master or slave, "" if it is not reported.
func (i Info) Role() string { return i["role"] }

// Replica reports whether the server has another one's data.
func (i Info) Replica() bool { return i.Role() != "" && i.Role() != "master" }

// ReplID names the server's data set; "" if it is not reported.
func (i Info) ReplID() string { return i["master_replid"] }

// WasReplica reports whether a master was a replica before its ReplID, as far as it
// remembers.
func (i Info) WasReplica() bool {
	offset := i["second_repl_offset"]
	return offset != "" && offset != "-1"
}

// Received returns how many bytes the server has received as a replica since it was started, as
// text; "" if it does not say so, as before Redis 7.0.
func (i Info) Received() string { return i["total_net_repl_input_bytes"] }

// DatabasesSwapped returns how often SWAPDB was called since the server was started, as text; "" if
// it never was, or that is not reported.
func (i Info) DatabasesSwapped() string {
	_, calls, _ := strings.Cut(i["cmdstat_swapdb"], "calls=")
	calls, _, _ = strings.Cut(calls, ",")
	return calls
}
