// Package observe shows how to watch the engine with Prometheus and OpenTelemetry, by
// examples that run as tests; the engine itself depends on neither.
package observe_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"muxlock/cmd/lockbench/internal/masters"
	"muxlock/engine"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// threeMasters stand for yours. They run in this process, so that the examples need no Redis.
func threeMasters() (addresses []string, stop func()) {
	set, err := masters.StartEmbedded(3)
	if err != nil {
		log.Fatal(err)
	}
	return set.Addrs, func() {
		if err := set.Close(); err != nil {
			log.Fatal(err)
		}
	}
}

// work stands for a service: one lock that is taken, wanted once more meanwhile, and released.
func work(ctx context.Context, locks *engine.Engine) {
	err := locks.Do(ctx, "invoice:42", 10*time.Second, func(ctx context.Context) error {
		if _, err := locks.TryAcquire(ctx, "invoice:42", 10*time.Second); !errors.Is(err, engine.ErrTaken) {
			return fmt.Errorf("not taken: %w", err)
		}
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
}

// untilReleased returns a function that waits until the observer was notified of a release: it
// is notified a moment after.
func untilReleased(o *engine.Observer) (wait func()) {
	notified, released := make(chan struct{}), o.Released
	o.Released = func(name string, held time.Duration, handedOver bool, err error) {
		released(name, held, handedOver, err)
		close(notified)
	}
	return func() { <-notified }
}

// withoutPorts puts m0, m1 and so on in place of addresses, which differ each time.
func withoutPorts(text string, addresses []string) string {
	for i, address := range addresses {
		text = strings.ReplaceAll(text, address, fmt.Sprint("m", i))
	}
	return text
}

func oneIf(fact bool) int {
	if fact {
		return 1
	}
	return 0
}
