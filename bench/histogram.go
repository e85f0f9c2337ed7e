package bench

import (
	"fmt"
	"iter"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// The range of every histogram, in ns; what lies outside is counted at its edge.
const (
	shortest = 1
	longest  = 60_000_000_000
	digits   = 3
)

// Histogram counts latencies in ns, in the range and to the digits that Summary
// names. It takes some 0.2 MB. Not safe for concurrent use.
type Histogram struct{ hdr *hdrhistogram.Histogram }

// NewHistogram returns an empty one.
func NewHistogram() *Histogram {
	return &Histogram{hdrhistogram.New(shortest, longest, digits)}
}

// Record counts n latencies of ns each.
func (h *Histogram) Record(ns, n int64) {
	_ = h.hdr.RecordValues(min(max(ns, shortest), longest), n) // cannot fail within the range
}

// Merge adds what g has counted.
func (h *Histogram) Merge(g *Histogram) { h.hdr.Merge(g.hdr) }

// MarshalText encodes it for another process, in the compressed form of HdrHistogram.
func (h *Histogram) MarshalText() ([]byte, error) {
	return h.hdr.Encode(hdrhistogram.V2CompressedEncodingCookieBase)
}

// UnmarshalText reads what MarshalText wrote.
func (h *Histogram) UnmarshalText(b []byte) (err error) {
	h.hdr, err = hdrhistogram.Decode(b)
	return err
}

// Count is how many latencies it holds.
func (h *Histogram) Count() int64 { return h.hdr.TotalCount() }

// Quantile is the latency in ns that a share of q, from 0 to 1, does not exceed; 0 when
// it is empty.
func (h *Histogram) Quantile(q float64) int64 { return h.hdr.ValueAtPercentile(100 * q) }

// Bars are the values that it distinguishes, rising, each with how many latencies were
// there and at most half a digit below it. Empty ones are left out.
func (h *Histogram) Bars() iter.Seq2[int64, int64] {
	return func(yield func(value, count int64) bool) {
		for _, bar := range h.hdr.Distribution() {
			if bar.Count > 0 && !yield(bar.To, bar.Count) {
				return
			}
		}
	}
}

// Histogram reads HDR back; an empty Histogram when HDR is absent. The error is that
// of a text which is no histogram.
func (s *Summary) Histogram() (*Histogram, error) {
	h := NewHistogram()
	if s.HDR == "" {
		return h, nil
	}
	if err := h.UnmarshalText([]byte(s.HDR)); err != nil {
		return nil, fmt.Errorf("bench: histogram: %w", err)
	}
	return h, nil
}

// Summary puts it in figures; zeros when it is empty. A nil one was not measured, and has none.
func (h *Histogram) Summary() *Summary {
	if h == nil {
		return nil
	}
	s := &Summary{Unit: "ns", Count: h.hdr.TotalCount(), P: map[string]int64{}}
	if s.Count > 0 {
		s.Min, s.Mean, s.Max = h.hdr.Min(), h.hdr.Mean(), h.hdr.Max()
		text, _ := h.MarshalText() // cannot fail: it writes to memory
		s.HDR = string(text)
	}
	for _, p := range percentiles {
		s.P[p.name] = 0
		if s.Count > 0 {
			s.P[p.name] = h.hdr.ValueAtPercentile(p.value)
		}
	}
	return s
}

var percentiles = []struct {
	name  string
	value float64
}{{"50", 50}, {"90", 90}, {"99", 99}, {"99.9", 99.9}, {"99.99", 99.99}}

func (h *Histogram) reset() { h.hdr.Reset() }
