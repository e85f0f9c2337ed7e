package faults

import (
	"context"
	"encoding/json"
	"io"
	"math/rand/v2"
	"time"

	"muxlock/bench"
	"muxlock/internal/faultproxy"
)

// Process names the process of the proxies, for child.Talk. Serve is its main function.
const Process = "delay-line"

// Serve serves proxies until its input ends.
func Serve(_ context.Context, in io.Reader, out io.Writer) error {
	return faultproxy.Serve(in, out, func(text json.RawMessage) (func() func() time.Duration, error) {
		var spans []bench.Span
		err := json.Unmarshal(text, &spans)
		return func() func() time.Duration { return late(spans) }, err
	})
}

// late returns a sampler of the sum of a draw from each span.
func late(spans []bench.Span) func() time.Duration {
	var draws []func() time.Duration
	for _, s := range spans {
		draws = append(draws, s.Sampler(rand.Uint64(), 0))
	}
	return func() (sum time.Duration) {
		for _, draw := range draws {
			sum += draw()
		}
		return sum
	}
}
