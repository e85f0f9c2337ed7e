package bench

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// sampled is times that were measured, each as likely as any other.
type sampled struct {
	source string
	sorted []time.Duration
	mean   time.Duration
}

// MaxSamples is how many Sampled takes: so many show a p99.9, and a document can keep them.
const MaxSamples = 10_000

const (
	sampledWord     = "samples:" // in a document: samples:1ms*3,2ms@PATH
	sampledFileWord = "file:"
)

// Sampled draws from measured times, 1 to 10,000 of them, each as likely as any other: a
// Span whose String is file:source, while its MarshalText has the times themselves, so that
// a document can be read, and a run repeated, without the file.
func Sampled(source string, times []time.Duration) (Span, error) {
	if len(times) == 0 || len(times) > MaxSamples {
		return Span{}, wrong("", "", "has %d samples, must have 1 to %d", len(times), MaxSamples)
	}
	s := &sampled{source: source, sorted: slices.Sorted(slices.Values(times))}
	sum := 0.0
	for _, d := range s.sorted {
		if d < 0 || d > maxSpan {
			return Span{}, wrong("", "", "has %s, must be from 0s to %s", d, maxSpan)
		}
		sum += float64(d)
	}
	s.mean = spanOf(sum / float64(len(times)))
	return Span{kind: spanSampled, of: s}, nil
}

// Samples is the times of a Sampled Span, ascending; nil for every other one. They are not to
// be changed.
func (s Span) Samples() []time.Duration {
	if s.of == nil {
		return nil
	}
	return s.of.sorted
}

// text is what parseSampled reads.
func (s *sampled) text() string {
	var b strings.Builder
	b.WriteString(sampledWord)
	for i := 0; i < len(s.sorted); {
		end := i + 1
		for end < len(s.sorted) && s.sorted[end] == s.sorted[i] {
			end++
		}
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(s.sorted[i].String())
		if end-i > 1 {
			fmt.Fprintf(&b, "*%d", end-i)
		}
		i = end
	}
	return b.String() + "@" + s.source
}

// parseSampled reads what follows sampledWord.
func parseSampled(text string) (Span, error) {
	list, source, _ := strings.Cut(text, "@")
	var times []time.Duration
	for one := range strings.SplitSeq(list, ",") {
		value, count, repeated := strings.Cut(one, "*")
		n := 1
		d, err := time.ParseDuration(value)
		if err == nil && repeated {
			n, err = strconv.Atoi(count)
		}
		if err != nil || n < 1 || n > MaxSamples-len(times) {
			return Span{}, badSpan(sampledWord + list)
		}
		times = append(times, slices.Repeat([]time.Duration{d}, n)...)
	}
	return Sampled(source, times)
}
