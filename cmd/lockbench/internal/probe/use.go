package probe

import (
	"context"
	"math"
	"strconv"
	"time"

	"muxlock/bench"
	"muxlock/cmd/lockbench/internal/wire"
	"muxlock/internal/serverinfo"
)

// meter reads a master's INFO when the probing begins and when it ends. It is owned by one
// goroutine at a time.
type meter struct {
	addr    string
	timeout time.Duration

	before, after use
}

// use is what a server has used up since it started; the zero value: it did not tell.
type use struct {
	runID    string
	cpu      float64 // seconds
	commands int64
}

// run reads at the moment, which may lie ahead, and when ctx ends.
func (m *meter) run(ctx context.Context, at time.Time) {
	begin := time.NewTimer(time.Until(at))
	defer begin.Stop()
	select {
	case <-begin.C:
		m.before = m.read(ctx)
		<-ctx.Done()
		m.after = m.read(context.WithoutCancel(ctx))
	case <-ctx.Done():
	}
}

func (m *meter) read(ctx context.Context) use {
	reply, err := wire.Ask(ctx, m.addr, m.timeout, "INFO")
	if err != nil || len(reply) != 1 {
		return use{}
	}
	info := serverinfo.Parse(reply[0].Text)
	user, err1 := strconv.ParseFloat(info["used_cpu_user"], 64)
	system, err2 := strconv.ParseFloat(info["used_cpu_sys"], 64)
	commands, err3 := strconv.ParseInt(info["total_commands_processed"], 10, 64)
	if err1 != nil || err2 != nil || err3 != nil {
		return use{}
	}
	return use{info.RunID(), user + system, commands}
}

// used is what came between, but for as many probes.
func (m *meter) used(probes int64) *bench.ServerUse {
	const own = 1 // command counted between the readings: the first INFO
	cpu, commands := m.after.cpu-m.before.cpu, m.after.commands-m.before.commands-probes-own
	if m.before.runID == "" || m.before.runID != m.after.runID || !(cpu >= 0 && cpu < math.MaxInt64/1e9) {
		return nil
	}
	return &bench.ServerUse{CPUNs: int64(cpu * 1e9), Commands: max(commands, 0)}
}
