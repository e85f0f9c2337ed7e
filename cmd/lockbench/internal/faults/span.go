package faults

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"
)

// Span is how late a reply is: always the same, or drawn for each.
type Span struct {
	median time.Duration // of exp: the mean
	sigma  float64       // of the logarithm; 0: not lognormal
	exp    bool
}

// ParseSpan reads 50ms, exp(5ms) or lognormal(5ms,1): median, and standard deviation
// of the logarithm. A colon may stand for the bracket: exp:5ms, lognormal:5ms,1.
func ParseSpan(text string) (s Span, err error) {
	name, arg, found := strings.Cut(text, ":")
	if head, rest, ok := strings.Cut(text, "("); ok && strings.HasSuffix(rest, ")") {
		name, arg, found = head, strings.TrimSuffix(rest, ")"), true
	}
	length := text
	switch {
	case found && name == "exp":
		s.exp, length = true, arg
	case found && name == "lognormal":
		median, sigma, _ := strings.Cut(arg, ",")
		if s.sigma, err = strconv.ParseFloat(strings.TrimSpace(sigma), 64); err != nil || !(s.sigma > 0 && s.sigma <= 5) {
			return s, fmt.Errorf("lognormal needs a median and a sigma above 0 and at most 5, as in lognormal(5ms,1), got %q", text)
		}
		length = median
	}
	if s.median, err = time.ParseDuration(strings.TrimSpace(length)); err != nil {
		return s, fmt.Errorf("%q is not 50ms, exp(5ms) or lognormal(5ms,1)", text)
	}
	if s.median < 0 {
		return s, fmt.Errorf("the delay is negative, %s", text)
	}
	return s, nil
}

// draw is one delay, at most an hour.
func (s Span) draw() time.Duration {
	d := float64(s.median)
	switch {
	case s.exp:
		d *= rand.ExpFloat64()
	case s.sigma > 0:
		d *= math.Exp(s.sigma * rand.NormFloat64())
	}
	return time.Duration(min(d, float64(time.Hour)))
}
