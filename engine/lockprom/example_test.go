package lockprom_test

import (
	"context"
	"log"
	"net/http"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"muxlock/engine"
	"muxlock/engine/lockprom"
)

func Example() {
	metrics := lockprom.New(lockprom.Options{})
	locks, err := engine.New(context.Background(), engine.Config{
		Masters:  []string{"10.0.0.1:6379", "10.0.0.2:6379", "10.0.0.3:6379"},
		Observer: metrics.Observer(),
	})
	if err != nil {
		log.Fatal(err)
	}
	defer locks.Close()
	metrics.Watch(locks)
	prometheus.MustRegister(metrics)
	http.Handle("/metrics", promhttp.Handler())
	log.Print(http.ListenAndServe(":9090", nil))
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
