package lockprom_test

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"muxlock/engine"
	"muxlock/engine/lockprom"
	"muxlock/internal/redisfake"
)

func Example() {
	cfg := onMasterOfThisProcess() // yours has Masters
	metrics := lockprom.New(lockprom.Options{})
	cfg.Observer = metrics.Observer()
	locks, err := engine.New(context.Background(), cfg)
	if err != nil {
		log.Fatal(err)
	}
	defer locks.Close()
	metrics.Watch(locks)
	prometheus.MustRegister(metrics)
	http.Handle("/metrics", promhttp.Handler())

	page := httptest.NewRecorder() // yours is served by http.ListenAndServe
	http.DefaultServeMux.ServeHTTP(page, httptest.NewRequest("GET", "/metrics", nil))
	for line := range strings.Lines(page.Body.String()) {
		if strings.HasPrefix(line, "muxlock_master_votes{") {
			fmt.Print(line)
		}
	}
	// Output:
	// muxlock_master_votes{master="10.0.0.1:6379"} 1
}

// Locks named order:17, job:mail and so on, in three classes.
func ExampleOptions() {
	lockprom.New(lockprom.Options{Class: func(name string) string {
		switch class, _, _ := strings.Cut(name, ":"); class {
		case "order", "job":
			return class
		}
		return "rest"
	}})
}

// onMasterOfThisProcess is for examples that run without servers. Package redisfake cannot be imported from other modules.
func onMasterOfThisProcess() (cfg engine.Config) {
	cfg.Masters, cfg.MasterTimeout = []string{"10.0.0.1:6379"}, 5*time.Second
	cfg.Client.DialCtxFn = redisfake.New().Dial
	return cfg
}
