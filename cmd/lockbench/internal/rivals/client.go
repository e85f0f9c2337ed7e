package rivals

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
)

// Client is what an implementation runs on, as a comparison has to show.
type Client struct {
	Versions []string `json:"versions"`            // "redsync v4.18.0"; of the build that ran
	Pool     int      `json:"pool_size,omitempty"` // connections to each master, at most
	// Retries is how often the client library itself repeats a command that failed, within
	// what the implementation counts as one try.
	Retries int `json:"retries,omitempty"`
}

// String is the same in a line; empty for what runs on no library of others.
func (c Client) String() string {
	parts := append([]string{}, c.Versions...)
	if c.Pool > 0 {
		parts = append(parts, fmt.Sprintf("pool of %d to each master", c.Pool))
	}
	if c.Retries > 0 {
		parts = append(parts, fmt.Sprintf("the client repeats a failed command up to %d times", c.Retries))
	}
	return strings.Join(parts, ", ")
}

// Modules of the libraries; the third part of each is the name that people use.
const (
	moduleRedsync   = "github.com/go-redsync/redsync/v4"
	moduleGoRedis   = "github.com/redis/go-redis/v9"
	moduleRueidis   = "github.com/redis/rueidis"
	moduleRedislock = "github.com/bsm/redislock"
)

const (
	goRedisRetries = 3 // the default of its MaxRetries
	poolMost       = 512
)

// Client is what the implementation runs on when it is opened with o.
func (i Impl) Client(o Options) Client {
	c := Client{Versions: []string{}}
	for _, module := range i.modules {
		c.Versions = append(c.Versions, strings.Split(module, "/")[2]+" "+version(module))
		if module == moduleGoRedis {
			c.Pool, c.Retries = poolSize(o), goRedisRetries
		}
	}
	return c
}

// version is that of the build.
func version(module string) string {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, dep := range info.Deps {
			if dep.Path == module {
				return dep.Version
			}
		}
	}
	return "(version unknown)"
}

// poolSize is go-redis's connections to a master, one for each command in flight. On
// loopback its default of ten per processor is the fastest at every number of workers
// (Redsync on two processors, five masters, 1024 workers: 6.8 k cycles/s with 20
// connections, 5.5 k with 512), so it stays. Over a distance the pool would be a queue of
// its own, so there it grows with the workers, up to 512.
func poolSize(o Options) int {
	size := 10 * runtime.GOMAXPROCS(0)
	if o.Distant {
		size = max(size, min(o.Workers, poolMost))
	}
	return size
}
