package bench

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// sampled has measured times, each as likely as any other.
type sampled struct {
	source string
	sorted []time.Duration
	mean   time.Duration
}

// MaxSamples limits the times of Sampled: enough for a p99.9, few enough for a document.
const MaxSamples = 10_000

const (
	sampledWord     = "samples:" // in a document: samples:1ms*3,2ms@PATH
	sampledFileWord = "file:"
)

// Sampled draws from 1 to MaxSamples measured times, each as likely as any other. String
// returns file:source. MarshalText returns the times themselves, so that a document can be
// read and its run repeated without the file.
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

// Samples returns the times of a Sampled Span, ascending, and nil for any other Span. The
// caller must not change them.
func (s Span) Samples() []time.Duration {
	if s.of == nil {
		return nil
	}
	return s.of.sorted
}

// text returns the form that parseSampled reads, after sampledWord.
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

// parseSampled reads the rest of a text after sampledWord.
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
