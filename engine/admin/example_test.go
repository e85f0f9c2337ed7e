package admin_test

import (
	"context"
	"fmt"
	"log"

	"muxlock/engine"
	"muxlock/engine/admin"
)

// A service refuses to start on masters that may forget locks.
func ExampleCheck() {
	var locks *engine.Engine // from engine.New
	report, err := admin.Check(context.Background(), locks)
	if err != nil {
		log.Fatal(err)
	}
	for _, f := range report.Findings {
		if f.Level == admin.LevelWarn {
			log.Print(f.Check, ": ", f.Text, " -> ", f.ToDo)
		}
	}
	if err := report.Err(); err != nil {
		log.Fatal(err)
	}
}

// Who is in the way, and what to do about it when its process is known to be gone.
func ExampleInspect() {
	var locks *engine.Engine // from engine.New, with a Config.Holder
	ctx := context.Background()
	found, err := admin.Inspect(ctx, locks, "nightly report")
	if err != nil {
		log.Fatal(err)
	}
	for _, m := range found.Masters {
		fmt.Println(m.Address, m.Value, m.Holder, m.Left, m.Err)
	}
	if found.Held && found.Holder == "web-7/4211" {
		deleted, err := admin.ForceRelease(ctx, locks, found) // that lock, and no later one
		fmt.Println("deleted on", deleted, "masters:", err)
	}
}
