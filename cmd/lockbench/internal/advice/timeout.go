package advice

import (
	"fmt"
	"time"

	"muxlock/cmd/lockbench/internal/sizing"
)

// timeout is MasterTimeout by F4: twice what a quorum takes but for one attempt in a
// thousand, and, so that there is one while a master is down, twice what it then takes
// nine times in ten. A single master that is slower than that now and then decides nothing.
func (k *maker) timeout() {
	law, from := k.Quorum, "quorums of round trips"
	if law == nil {
		law, from = k.attempts(), "acquires"
		k.warn("the masters were not probed: MasterTimeout and RetrySplit rest on acquires alone, and what another number of them would do is not known")
	}
	slowest := min(law.UpperQuantile(slowMoment), law.Max()) // a guess would help nobody
	why := fmt.Sprintf("twice what all but %s of the %s take (%s)", chance(slowMoment), from, text(slowest))
	if k.down.mostly > slowest {
		slowest = k.down.mostly
		why = fmt.Sprintf("twice what a quorum mostly takes while one master is down (%s)", text(slowest))
	}
	tau := roundUp(min(max(time.Duration(margin*slowest), leastTimeout), time.Minute))
	k.out.Config.MasterTimeout = tau
	k.setting("MasterTimeout", span(tau), "F4", "%s, at least %s", why, span(leastTimeout))
}

// attempts is what masters are asked for.
func (k *maker) attempts() *sizing.Law {
	if k.Attempt != nil {
		return k.Attempt
	}
	return k.Acquire
}

// slowMaster is what the slowest master costs that is not waited for.
func (k *maker) slowMaster() {
	tau := float64(k.out.Config.MasterTimeout)
	slowest, late := -1, 0.0
	for i := range k.Rows.Masters() {
		law, answered := k.Rows.Master(i)
		missed := 1.0
		if law != nil {
			missed = 1 - answered*(1-law.SampleSurvival(tau))
		}
		if missed > late {
			slowest, late = i, missed
		}
	}
	if slowest < 0 {
		return
	}
	law, failed := k.without(slowest)
	if law == nil || failed > noQuorum {
		k.setting("slow master", "no quorum", "F4", "master %d is later than MasterTimeout in %s of the probes, and then has no vote: without it nothing is locked", slowest+1, chance(late))
		return
	}
	k.setting("slow master", text(p99(law)), "F4", "p99 of a quorum without master %d, which is later than MasterTimeout in %s of the probes and then has no vote until it has been dialled again; with it %s",
		slowest+1, chance(late), text(p99(k.Quorum)))
}

func p99(l *sizing.Law) float64 { return min(l.UpperQuantile(0.01), l.Max()) }
