package rivals

import (
	"context"
	"fmt"

	"github.com/redis/rueidis"

	"muxlock/cmd/lockbench/internal/masters"
)

// openRueidis connects rueidis with its defaults to one master, and checks that it answers.
func openRueidis(ctx context.Context, master string, o Options) (rueidis.Client, error) {
	opt, err := masters.Option(master)
	if err != nil {
		return nil, err
	}
	opt.Dialer = o.dialer()
	client, err := rueidis.NewClient(opt)
	if err == nil {
		err = client.Do(ctx, client.B().Ping().Build()).Error()
	}
	if err != nil {
		if client != nil {
			client.Close()
		}
		return nil, fmt.Errorf("master %s: %w", masters.Redact(master), err)
	}
	return client, nil
}
