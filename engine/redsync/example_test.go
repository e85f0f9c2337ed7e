package redsync_test

import (
	"context"
	"errors"
	"log"
	"time"

	"muxlock/engine"
	"muxlock/engine/redsync"
)

func Example() {
	locks, err := engine.New(context.Background(), engine.Config{
		Masters: []string{"10.0.0.1:6379", "10.0.0.2:6379", "10.0.0.3:6379"},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer locks.Close()
	rs := redsync.New(locks)

	mutex := rs.NewMutex("invoice:42", redsync.WithExpiry(10*time.Second))
	var taken *redsync.ErrTaken
	switch err := mutex.Lock(); {
	case errors.As(err, &taken):
		return // another process is at it
	case err != nil:
		log.Fatal(err)
	}
	defer mutex.Unlock()
}

// A worker ends a job, and the lock, that the web server began.
func ExampleWithValue() {
	var web, worker *redsync.Redsync // in two processes
	mutex := web.NewMutex("job 4711", redsync.WithExpiry(20*time.Second))
	if err := mutex.Lock(); err != nil {
		log.Fatal(err)
	}
	value := mutex.Value() // goes into the queue, with the job

	same := worker.NewMutex("job 4711", redsync.WithExpiry(20*time.Second), redsync.WithValue(value))
	if ok, err := same.Unlock(); !ok {
		log.Print("somebody else may have been at it: ", err)
	}
}
