package advice

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"muxlock/cmd/lockbench/internal/units"
)

// Snippet is Go to be pasted; where the masters are is not for it to know.
func (c Config) Snippet() string {
	var b strings.Builder
	b.WriteString("engine.Config{\n\tMasters:       masters, // your own addresses\n")
	field := func(name, value string) { fmt.Fprintf(&b, "\t%-14s %s,\n", name+":", value) }
	field("TTL", literal(c.TTL))
	field("MaxTTL", literal(c.MaxTTL))
	field("MasterTimeout", literal(c.MasterTimeout))
	field("Drift", strconv.FormatFloat(c.Drift, 'g', -1, 64))
	field("RetryHeld", literal(c.RetryHeld))
	field("RetrySplit", literal(c.RetrySplit))
	if c.Fencing {
		field("Fencing", "true")
	}
	b.WriteString("}")
	return b.String()
}

// literal writes a duration as Go code.
func literal(d time.Duration) string {
	for _, unit := range []struct {
		d    time.Duration
		name string
	}{{time.Hour, "time.Hour"}, {time.Minute, "time.Minute"}, {time.Second, "time.Second"}, {time.Millisecond, "time.Millisecond"}, {time.Microsecond, "time.Microsecond"}} {
		if d%unit.d == 0 {
			return fmt.Sprintf("%d * %s", d/unit.d, unit.name)
		}
	}
	return fmt.Sprintf("%d * time.Nanosecond", d)
}

// roundUp is to two digits, in whole ms from 10 ms on.
func roundUp(d time.Duration) time.Duration {
	step := time.Duration(1)
	for d/step >= 100 {
		step *= 10
	}
	if d >= 10*time.Millisecond {
		step = max(step, time.Millisecond)
	}
	return (d + step - 1) / step * step
}

// wholeMs rounds a TTL up: masters count in ms.
func wholeMs(ns float64) time.Duration {
	d := roundUp(time.Duration(ns))
	return (d + time.Millisecond - 1).Truncate(time.Millisecond)
}

// roundDown is to two digits, in whole ms.
func roundDown(d time.Duration) time.Duration {
	step := time.Duration(1)
	for d/step >= 100 {
		step *= 10
	}
	return (d / step * step).Truncate(time.Millisecond)
}

// text is a time for people.
func text(ns float64) string {
	if !(ns < 1e18) {
		return "for ever"
	}
	return units.Duration(ns)
}

func span(d time.Duration) string { return text(float64(d)) }

// chance is a probability in words that stay short.
func chance(p float64) string { return strconv.FormatFloat(p, 'g', 2, 64) }

func number(v float64) string { return strconv.FormatFloat(math.Round(v), 'f', -1, 64) }
