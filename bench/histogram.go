package bench

import (
	"bytes"
	"fmt"
	"iter"
	"math"
	"strings"

	"github.com/HdrHistogram/hdrhistogram-go"

	"muxlock/internal/stats"
)

// The range of every histogram, in ns. Record counts a value outside it at the nearer edge.
const (
	shortest = 1
	longest  = 3_600_000_000_000
	digits   = 3
)

// Histogram counts latencies from 1 ns to 1 hour, to 3 digits. It takes some 0.2 MB, and
// twice that with censored latencies. Not safe for concurrent use.
//
// A censored latency is a lower bound: the operation was cut off or never began. Censored
// latencies rank above all known ones. A quantile is therefore exact up to the known share,
// and a lower bound beyond it: at least the longest known latency, and at least the quantile
// that treats censored latencies as exact.
type Histogram struct {
	hdr      *hdrhistogram.Histogram
	censored *hdrhistogram.Histogram // nil until RecordAtLeast
}

// NewHistogram returns an empty Histogram.
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

// Merge adds the counts of g.
func (h *Histogram) Merge(g *Histogram) {
	if g.hdr.TotalCount() > 0 { // else it takes as long
		h.hdr.Merge(g.hdr)
	}
	if g.Censored() > 0 {
		if h.censored == nil {
			h.censored = newHDR()
		}
		h.censored.Merge(g.censored)
	}
}

// MarshalText encodes h for another process, in the compressed form of HdrHistogram.
// Censored latencies follow a comma.
func (h *Histogram) MarshalText() ([]byte, error) {
	return []byte(strings.TrimSuffix(encoded(h.hdr)+","+encoded(h.censored), ",")), nil
}

// encoded returns the text of a part of a Histogram; empty if it has no latencies.
func encoded(h *hdrhistogram.Histogram) string {
	if h == nil || h.TotalCount() == 0 {
		return ""
	}
	text, _ := h.Encode(hdrhistogram.V2CompressedEncodingCookieBase) // cannot fail: it writes to memory
	return string(text)
}

// UnmarshalText decodes the text of MarshalText. Either part may be empty.
func (h *Histogram) UnmarshalText(b []byte) (err error) {
	known, censored, _ := bytes.Cut(b, []byte(","))
	*h = *NewHistogram()
	if len(known) > 0 {
		h.hdr, err = hdrhistogram.Decode(known)
	}
	if len(censored) > 0 && err == nil {
		h.censored, err = hdrhistogram.Decode(censored)
	}
	return err
}

// Count returns the number of latencies, censored ones included.
func (h *Histogram) Count() int64 { return h.hdr.TotalCount() + h.Censored() }

// Censored returns the number of censored latencies.
func (h *Histogram) Censored() int64 {
	if h.censored == nil {
		return 0
	}
	return h.censored.TotalCount()
}

// Percentile returns percentile p (0 to 100) in ns, and 0 when h is empty. It is a lower bound
// when AtLeast(p).
func (h *Histogram) Percentile(p float64) int64 {
	known, all := h.hdr.TotalCount(), h.Count()
	switch {
	case known == all:
		return h.hdr.ValueAtPercentile(p)
	case !h.AtLeast(p):
		return h.hdr.ValueAtPercentile(min(100, p*float64(all)/float64(known)))
	}
	return max(h.both().ValueAtPercentile(p), h.hdr.Max())
}

// both returns all latencies, as if the censored ones were known.
func (h *Histogram) both() *hdrhistogram.Histogram {
	if h.Censored() == 0 {
		return h.hdr
	}
	both := newHDR()
	both.Merge(h.hdr)
	both.Merge(h.censored)
	return both
}

// AtLeast reports whether percentile p falls among the censored latencies.
func (h *Histogram) AtLeast(p float64) bool { return amongCensored(p, h.Censored(), h.Count()) }

// amongCensored reports whether percentile p of all latencies falls among the censored ones,
// which are the last.
func amongCensored(p float64, censored, all int64) bool {
	return censored > 0 && math.Ceil(p/100*float64(all)-1e-6) > float64(all-censored) // 0.9*10 is not quite 9
}

// Bars yields the non-empty bars of the known latencies, ascending: the upper end of each
// bar and the number of latencies in it.
func (h *Histogram) Bars() iter.Seq2[int64, int64] {
	return func(yield func(value, count int64) bool) {
		for _, bar := range h.hdr.Distribution() {
			if bar.Count > 0 && !yield(bar.To, bar.Count) {
				return
			}
		}
	}
}

// Histogram decodes HDR and CensoredHDR. It returns an empty Histogram when both are absent,
// and an error when one of them cannot be decoded.
func (s *Summary) Histogram() (*Histogram, error) {
	h := &Histogram{}
	if err := h.UnmarshalText([]byte(s.HDR + "," + s.CensoredHDR)); err != nil {
		return nil, fmt.Errorf("bench: histogram: %w", err)
	}
	return h, nil
}

// Summary returns the figures of h: zeros when h is empty, nil when h is nil (not measured).
func (h *Histogram) Summary() *Summary {
	if h == nil {
		return nil
	}
	both := h.both()
	s := &Summary{
		Unit: "ns", Count: h.Count(), Censored: h.Censored(), P: map[string]int64{},
		Min: both.Min(), Mean: both.Mean(), Max: both.Max(), HDR: encoded(h.hdr), CensoredHDR: encoded(h.censored),
	}
	for _, p := range stats.Percentiles {
		s.P[p.Name] = h.Percentile(p.Value)
		if h.AtLeast(p.Value) {
			s.AtLeast = append(s.AtLeast, p.Name)
		}
	}
	return s
}

func (h *Histogram) reset() {
	h.hdr.Reset()
	if h.censored != nil {
		h.censored.Reset()
	}
}
