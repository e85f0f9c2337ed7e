package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"time"

	"muxlock/internal/testing/await"
)

// measuredEnv makes this test binary another process; its value are the masters.
const measuredEnv = "MUXLOCK_TEST_MEASURED"

// stoppedFor is for how long the process of actAsMeasured is stopped: longer than a busy machine
// keeps it waiting.
const stoppedFor = time.Second

// actAsMeasured measures, says so on standard output, waits until this process has been stopped
// for that long and prints what it measured.
func actAsMeasured(masters []string) {
	e, err := New(context.Background(), Config{Masters: masters, MastersAreNew: true, MasterTimeout: await.Patience, Measure: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	pauses := func(n int64) {
		for until := e.Measured().Pauses.Count + n; e.Measured().Pauses.Count < until; {
			time.Sleep(time.Millisecond)
		}
	}
	pauses(1)
	last := time.Now() // before anybody knows that this process may be stopped
	fmt.Println("measuring")
	for stopped := time.Duration(0); stopped < stoppedFor-pausePeriod; {
		time.Sleep(time.Millisecond)
		now := time.Now()
		last, stopped = now, now.Sub(last)
	}
	pauses(2) // the first of them may have been under way
	_ = json.NewEncoder(os.Stdout).Encode(e.Measured())
	select {} // nobody waits for a process that has ended
}
