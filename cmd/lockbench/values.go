package main

import (
	"fmt"
	"strconv"

	"muxlock/bench"
)

// rate is a number per second that may end in k or M.
type rate float64

func (r *rate) Set(s string) error {
	v, err := bench.ParseNumber(s)
	if err != nil {
		return fmt.Errorf("%q is not a number per second such as 300, 5k or 1.5M", s)
	}
	if !(v > 0) {
		return fmt.Errorf("must be above 0, got %s; leave it out for a closed loop", s)
	}
	*r = rate(v)
	return nil
}

func (r *rate) String() string { return strconv.FormatFloat(float64(*r), 'g', -1, 64) }
func (r *rate) Type() string   { return "number" }

// share is a part of the whole, such as 5% or 0.05.
type share float64

func (s *share) Set(text string) error {
	v, err := bench.ParseShare(text)
	if err != nil || !(v >= 0 && v < 1) {
		return fmt.Errorf("must be from 0%% to below 100%%, such as 5%%")
	}
	*s = share(v)
	return nil
}

func (s *share) String() string { return strconv.FormatFloat(100*float64(*s), 'g', 4, 64) + "%" }
func (s *share) Type() string   { return "share" }
