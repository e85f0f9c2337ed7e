package groups_test

import (
	"context"
	"crypto/tls"
	"fmt"
	"log"
	"net"
	"time"

	"github.com/redis/rueidis"

	"muxlock/engine"
	"muxlock/engine/groups"
	"muxlock/internal/redisfake"
)

// fakes stand for servers. Package redisfake cannot be imported from other modules: yours are servers, and need no Client.
var fakes = map[string]*redisfake.Server{"10.0.0.1:6379": redisfake.New(), "10.0.0.2:6379": redisfake.New(), "10.0.0.3:6379": redisfake.New(),
	"10.0.1.1:6379": redisfake.New(), "10.0.1.2:6379": redisfake.New(), "10.0.1.3:6379": redisfake.New()}

var client = rueidis.ClientOption{DialCtxFn: func(ctx context.Context, address string, d *net.Dialer, c *tls.Config) (net.Conn, error) {
	return fakes[address].Dial(ctx, address, d, c)
}}

func Example() {
	ctx := context.Background()
	locks, err := groups.New(ctx, groups.Config{
		Config: engine.Config{Client: client, MaxTTL: 30 * time.Second, MasterTimeout: 5 * time.Second}, // of all groups
		Groups: map[string][]string{
			"red":  {"10.0.0.1:6379", "10.0.0.2:6379", "10.0.0.3:6379"},
			"blue": {"10.0.1.1:6379", "10.0.1.2:6379", "10.0.1.3:6379"},
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer locks.Close()

	err = locks.Do(ctx, "invoice:42", 10*time.Second, func(ctx context.Context) error {
		fmt.Println("held in its group")
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	err = locks.DoAll(ctx, []string{"{order:7}/stock", "{order:7}/bill"}, 10*time.Second, func(ctx context.Context, set *engine.Set) error {
		fmt.Println("both held: they have one tag, and so one group")
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output:
	// held in its group
	// both held: they have one tag, and so one group
}
