package output

import (
	"fmt"
	"io"
	"math"
	"slices"
	"text/tabwriter"
	"time"

	"muxlock/bench"
)

// slow is how many times the median of the others a master's round trip must be for it
// to be pointed at.
const slow = 2

// perMaster shows what a prober beside the load saw of each master.
func perMaster(w io.Writer, masters []bench.Master) {
	if len(masters) == 0 {
		return
	}
	tw := tabwriter.NewWriter(w, 0, 0, 3, ' ', tabwriter.AlignRight)
	fmt.Fprintln(tw, "master\trtt p50\tp99\tmax\tlost\tdown\tclock\t")
	for i, m := range masters {
		fmt.Fprintf(tw, "%s\t%s\t%s\t%s\t%d\t%s\t%s\t%s\n", m.Addr, Percentile(m.RTT, "50"), Percentile(m.RTT, "99"),
			longest(m.RTT), m.Lost, share(m.Down), Clock(m.Clock), remark(masters, i))
	}
	tw.Flush()
}

// Clock is a master's clock in a few words; "-" if too little was seen of it.
func Clock(c *bench.Clock) string {
	if c == nil {
		return "-"
	}
	text := fmt.Sprintf("%+.0f±%.0fppm", c.PPM, max(c.PPMError, 1))
	if math.Abs(c.PPM) <= c.PPMError {
		text = fmt.Sprintf("0±%.0fppm", max(c.PPMError, 1))
	}
	if c.JumpNs > int64(time.Millisecond) {
		text += " step " + Duration(float64(c.JumpNs))
	}
	return text
}

// Slow tells whether a master is much slower than most of the others.
func Slow(masters []bench.Master, i int) bool {
	var others []int64
	for j, m := range masters {
		if j != i && m.RTT != nil && m.RTT.Count > 0 {
			others = append(others, m.RTT.P["50"])
		}
	}
	if len(others) == 0 || masters[i].RTT == nil {
		return false
	}
	slices.Sort(others)
	return masters[i].RTT.P["50"] > slow*others[len(others)/2]
}

func remark(masters []bench.Master, i int) string {
	switch {
	case masters[i].Down > 0:
		return " <- was down"
	case Slow(masters, i):
		return " <- slow"
	}
	return ""
}

func longest(s *bench.Summary) string {
	if s == nil || s.Count == 0 {
		return "-"
	}
	return Duration(float64(s.Max))
}

func share(x float64) string {
	if x == 0 {
		return "0"
	}
	return Digits(100*x) + "%"
}
