package bench

import (
	"bytes"
	"fmt"
	"iter"
	"math"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// The range of every histogram, in ns; what lies outside is counted at its edge.
const (
	shortest = 1
	longest  = 3_600_000_000_000
	digits   = 3
)

// Histogram counts latencies in ns, in the range and to the digits that Summary
// names. It takes some 0.2 MB, twice that with censored ones. Not safe for concurrent use.
//
// A censored latency is known only to be at least so long: what was waited for never came.
// All censored ones rank above all known ones, so that a quantile is exact up to the share
// that is known, and beyond it a lower bound: of the censored latencies if they were exact,
// and of the longest known one.
type Histogram struct {
	hdr      *hdrhistogram.Histogram
	censored *hdrhistogram.Histogram // nil until there is one
}

// NewHistogram returns an empty one.
func NewHistogram() *Histogram { return &Histogram{hdr: newHDR()} }

func newHDR() *hdrhistogram.Histogram { return hdrhistogram.New(shortest, longest, digits) }

// Record counts n latencies of ns each.
func (h *Histogram) Record(ns, n int64) {
	_ = h.hdr.RecordValues(min(max(ns, shortest), longest), n) // cannot fail within the range
}

// RecordAtLeast counts n censored latencies of at least ns each.
func (h *Histogram) RecordAtLeast(ns, n int64) {
	if h.censored == nil {
		h.censored = newHDR()
	}
	_ = h.censored.RecordValues(min(max(ns, shortest), longest), n)
}

// Merge adds what g has counted.
func (h *Histogram) Merge(g *Histogram) {
	h.hdr.Merge(g.hdr)
	if g.Censored() > 0 {
		if h.censored == nil {
			h.censored = newHDR()
		}
		h.censored.Merge(g.censored)
	}
}

// MarshalText encodes it for another process, in the compressed form of HdrHistogram; the
// censored ones follow a comma.
func (h *Histogram) MarshalText() ([]byte, error) {
	text, err := h.hdr.Encode(hdrhistogram.V2CompressedEncodingCookieBase)
	if err == nil && h.Censored() > 0 {
		var more []byte
		more, err = h.censored.Encode(hdrhistogram.V2CompressedEncodingCookieBase)
		text = append(append(text, ','), more...)
	}
	return text, err
}

// UnmarshalText reads what MarshalText wrote.
func (h *Histogram) UnmarshalText(b []byte) (err error) {
	known, more, found := bytes.Cut(b, []byte(","))
	if h.hdr, err = hdrhistogram.Decode(known); err == nil && found {
		h.censored, err = hdrhistogram.Decode(more)
	}
	return err
}

// Count is how many latencies it holds, censored ones among them.
func (h *Histogram) Count() int64 { return h.hdr.TotalCount() + h.Censored() }

// Censored is how many of them are.
func (h *Histogram) Censored() int64 {
	if h.censored == nil {
		return 0
	}
	return h.censored.TotalCount()
}

// Quantile is the latency in ns that a share of q, from 0 to 1, does not exceed; 0 when
// it is empty. Where AtLeast, it is a lower bound.
func (h *Histogram) Quantile(q float64) int64 {
	known, all := h.hdr.TotalCount(), h.Count()
	switch {
	case known == all:
		return h.hdr.ValueAtPercentile(100 * q)
	case !h.AtLeast(q):
		return h.hdr.ValueAtPercentile(min(100, 100*q*float64(all)/float64(known)))
	}
	both := newHDR()
	both.Merge(h.hdr)
	both.Merge(h.censored)
	return max(both.ValueAtPercentile(100*q), h.hdr.Max())
}

// AtLeast reports whether quantile q is one of the censored ones.
func (h *Histogram) AtLeast(q float64) bool { return amongCensored(q, h.Censored(), h.Count()) }

// amongCensored reports whether quantile q of so many is among the last, which are censored.
func amongCensored(q float64, censored, all int64) bool {
	return censored > 0 && math.Ceil(q*float64(all)-1e-6) > float64(all-censored) // 0.9*10 is not quite 9
}

// Bars are the known values that it distinguishes, rising, each with how many latencies
// were there and at most half a digit below it. Empty ones are left out.
func (h *Histogram) Bars() iter.Seq2[int64, int64] {
	return func(yield func(value, count int64) bool) {
		for _, bar := range h.hdr.Distribution() {
			if bar.Count > 0 && !yield(bar.To, bar.Count) {
				return
			}
		}
	}
}

// Histogram reads HDR and CensoredHDR back; an empty Histogram when both are absent. The
// error is that of a text which is no histogram.
func (s *Summary) Histogram() (*Histogram, error) {
	h, err := NewHistogram(), error(nil)
	if s.HDR != "" {
		h.hdr, err = hdrhistogram.Decode([]byte(s.HDR))
	}
	if s.CensoredHDR != "" && err == nil {
		h.censored, err = hdrhistogram.Decode([]byte(s.CensoredHDR))
	}
	if err != nil {
		return nil, fmt.Errorf("bench: histogram: %w", err)
	}
	return h, nil
}

// Summary puts it in figures; zeros when it is empty. A nil one was not measured, and has none.
func (h *Histogram) Summary() *Summary {
	if h == nil {
		return nil
	}
	s := &Summary{Unit: "ns", Count: h.Count(), Censored: h.Censored(), P: map[string]int64{}}
	s.take(h.hdr, &s.HDR)
	if s.Censored > 0 {
		s.take(h.censored, &s.CensoredHDR)
	}
	for _, p := range percentiles {
		s.P[p.name] = 0
		if s.Count > 0 {
			s.P[p.name] = h.Quantile(p.value / 100)
		}
		if h.AtLeast(p.value / 100) {
			s.AtLeast = append(s.AtLeast, p.name)
		}
	}
	return s
}

// take adds latencies, known or censored, to least, mean and longest.
func (s *Summary) take(hdr *hdrhistogram.Histogram, into *string) {
	n := hdr.TotalCount()
	if n == 0 {
		return
	}
	if s.Max == 0 || hdr.Min() < s.Min {
		s.Min = hdr.Min()
	}
	s.Max = max(s.Max, hdr.Max())
	s.Mean += hdr.Mean() * (float64(n) / float64(s.Count))
	text, _ := hdr.Encode(hdrhistogram.V2CompressedEncodingCookieBase) // cannot fail: it writes to memory
	*into = string(text)
}

var percentiles = []struct {
	name  string
	value float64
}{{"50", 50}, {"90", 90}, {"99", 99}, {"99.9", 99.9}, {"99.99", 99.99}}

func (h *Histogram) reset() {
	h.hdr.Reset()
	if h.censored != nil {
		h.censored.Reset()
	}
}
