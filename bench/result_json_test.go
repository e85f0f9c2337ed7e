package bench

import (
	"encoding/json"
	"testing"
	"time"

	"muxlock/internal/testing/golden"

	"github.com/stretchr/testify/require"
)

func TestAResultKeepsItsShape(t *testing.T) {
	cfg := Config{Workers: 4, Rate: 250, Arrivals: ArrivalsUniform, Duration: 4003500 * time.Microsecond, TTL: time.Second, KeyPrefix: "k:", Seed: 42}
	virtual(t, nil, slow{acquire: takes(2 * time.Millisecond), release: time.Millisecond}, cfg, func(t *testing.T, r *Result, err error) {
		require.NoError(t, err)
		r.Client = Client{CPUNsPerOp: 1234.5, AllocsPerOp: 6, GCP99Ns: 81920}
		for _, s := range r.Latency {
			if s != nil {
				require.NotEmpty(t, s.HDR)
				s.HDR = "HISTF" // the rest depends on how this Go compresses
			}
		}
		b, err := json.MarshalIndent(r, "", "  ")
		require.NoError(t, err)
		golden.Equal(t, "result.json", string(b)+"\n")
	})
}

func TestAMasterIsSlowFromTwiceTheMedianOfTheOthersOn(t *testing.T) {
	for _, p50s := range [][]int64{{20, 10, 10}, {21}, {21, 0}, {0, 1}, {12, -1, 10}, {21, 10, 10}} { // 0: not measured; below: no probe came back
		masters := make([]Master, len(p50s))
		for i, p50 := range p50s {
			if p50 != 0 {
				masters[i].RTT = &Summary{Count: max(p50, 0), P: map[string]int64{"50": p50}}
			}
		}
		require.Equal(t, len(p50s) == 3 && p50s[0] == 21, SlowMaster(masters, 0), p50s)
	}
}

func TestTheShareThatWasLostCountsNames(t *testing.T) {
	for of, want := range map[Totals][2]int64{
		{Acquired: 10, LostValidity: 3, LateQuorum: 2}:            {3, 12},
		{Acquired: 10, Names: 40, LostValidity: 3, LateQuorum: 2}: {6, 42},
	} {
		lost, all := of.LostShare()
		require.Equal(t, want, [2]int64{lost, all})
	}
}
