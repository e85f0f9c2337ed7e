package servertest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/rueidis"

	"muxlock/engine"
	fencing "muxlock/engine/fence"
	"muxlock/internal/testing/await"
)

// leaderEnv makes this test binary a leader; its value are the masters and, last, the resource.
const leaderEnv = "MUXLOCK_TEST_LEADER"

// actAsLeader leads "name", says so on standard output with its fence, waits until another leader has
// written to the resource and writes to it without a look at the lock: without and with the
// fence. It prints whether the first was accepted, whether the second was refused, and whether
// its ctx ended because the lock was lost.
func actAsLeader(addresses []string) {
	masters, at := addresses[:len(addresses)-1], addresses[len(addresses)-1]
	client, err := resource(at)
	if err != nil {
		fmt.Println(err)
		return
	}
	e, err := engine.New(context.Background(), engine.Config{Masters: masters, Fencing: true, MasterTimeout: await.Patience})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(e.Lead(context.Background(), "name", holderTTL, func(ctx context.Context, lock *engine.Lock) error {
		fmt.Println("leads", lock.Fence())
		for client.Do(context.Background(), client.B().Get().Key("plain").Build()).Error() != nil {
			time.Sleep(time.Millisecond)
		}
		plain := client.Do(context.Background(), client.B().Set().Key("plain").Value("first").Build()).Error()
		fenced := fencedValue(client).Set(context.Background(), lock.Fence(), "first")
		<-ctx.Done()
		fmt.Println(plain == nil, errors.Is(fenced, fencing.ErrStale), errors.Is(context.Cause(ctx), engine.ErrLost))
		return ctx.Err()
	}))
}

// resource connects to what leaders write to.
func resource(at string) (rueidis.Client, error) {
	return rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{at}, ForceSingleClient: true, DisableCache: true})
}

func fencedValue(client rueidis.Client) fencing.Value {
	script := rueidis.NewLuaScript(fencing.Script)
	return fencing.Value{Key: "fenced", Run: func(ctx context.Context, keys, args []string) ([]string, error) {
		return script.Exec(ctx, client, keys, args).AsStrSlice()
	}}
}
