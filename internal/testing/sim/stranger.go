package sim

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"muxlock/internal/quorum"
	"muxlock/internal/redlock"
	"muxlock/scripts"
)

// A stranger is a client that works as Redsync does. It polls with SET NX PX, one master after the other. It
// computes the validity that is left, and undoes a failed attempt with compare-and-delete.
type stranger struct {
	*world
	id string
	r  *rand.Rand
}

func (x *stranger) run(ctx context.Context) {
	for n := 0; ctx.Err() == nil; n++ {
		x.cycle(x.names()[x.r.IntN(2*x.s.Shape.Names)], fmt.Sprintf("stranger %s.%d", x.id, n))
		time.Sleep(time.Duration(20+x.r.IntN(400)) * time.Millisecond)
	}
}

func (x *stranger) cycle(name, token string) {
	ttl := time.Duration(300+x.r.IntN(2000)) * time.Millisecond
	began, granted := time.Now(), 0
	for _, m := range x.masters {
		x.travel()
		if m.Do("SET", name, token, "NX", "PX", fmt.Sprint(ttl.Milliseconds())) == "OK" && x.travel() {
			granted++
		}
	}
	now := time.Now()
	left := redlock.Validity(ttl, now.Sub(began), x.s.Shape.Drift)
	x.count("call", "stranger")
	if granted >= quorum.Size(len(x.masters)) && left > 0 {
		x.count("won", "stranger")
		time.Sleep(min(left, time.Duration(x.r.IntN(1000))*time.Millisecond))
		x.held(hold{name: name, who: token, token: token, from: now, to: time.Now()})
	}
	for _, m := range x.masters {
		x.travel()
		m.Do("SCRIPT", "LOAD", scripts.Release.Source)
		m.Do("EVALSHA", scripts.Release.SHA1, "1", name, token)
	}
}

// travel takes the time that a packet takes, and reports whether it arrived.
func (x *stranger) travel() bool {
	time.Sleep(time.Duration(x.r.IntN(1500)) * time.Microsecond)
	return x.r.IntN(50) > 0
}
