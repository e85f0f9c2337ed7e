package rivals

import (
	"runtime"
	"runtime/debug"
	"strings"

	"muxlock/cmd/lockbench/internal/result"
)

// Modules of the libraries. The third part of each path is its usual name.
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

// Client returns the client libraries of the implementation when opened with o.
func (i Impl) Client(o Options) result.Client {
	c := result.Client{Versions: []string{}}
	for _, module := range i.modules {
		c.Versions = append(c.Versions, strings.Split(module, "/")[2]+" "+version(module))
		if module == moduleGoRedis {
			c.Pool, c.Retries = poolSize(o), goRedisRetries
		}
	}
	return c
}

// version returns the version of a module in this build.
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

// poolSize returns go-redis's connections to a master, one for each command in flight. On
// loopback its default of ten per processor is the fastest at every number of workers, so it
// stays (Redsync on two processors, five masters, 1024 workers: 6.8 k cycles/s with 20
// connections, 5.5 k with 512). With distant masters a small pool would be a queue, so there it
// grows with the workers, up to 512.
func poolSize(o Options) int {
	size := 10 * runtime.GOMAXPROCS(0)
	if o.Distant {
		size = max(size, min(o.Workers, poolMost))
	}
	return size
}
