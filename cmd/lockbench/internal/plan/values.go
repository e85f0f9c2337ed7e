package plan

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"muxlock/bench"
	"muxlock/cmd/lockbench/internal/result"
	"muxlock/cmd/lockbench/internal/service"
	"muxlock/cmd/lockbench/internal/sizing"
)

// rate is a number per second that may end in k or M.
type rate float64

func (r *rate) Set(s string) error {
	v, err := result.ParseNumber(s)
	if err != nil {
		return fmt.Errorf("%q is not a number per second such as 300, 5k or 1.5M", s)
	}
	*r = rate(v)
	return nil
}

func (r *rate) String() string { return strconv.FormatFloat(float64(*r), 'g', -1, 64) }
func (r *rate) Type() string   { return "number" }

// Span is a bench.Span that may come from a file of samples, file:PATH, or from the holds that such a
// result or process measured.
type Span struct{ *bench.Span }

func (s Span) Set(text string) (err error) {
	path, ok := strings.CutPrefix(text, "file:")
	if !ok {
		*s.Span, err = bench.ParseSpan(text)
		return err
	}
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	lines := bufio.NewReader(file)
	read := readSamples
	if first, _ := lines.Peek(1); string(first) == "{" {
		read = func(io.Reader) ([]time.Duration, error) { return measuredHolds(path) }
	}
	times, err := read(lines)
	if err == nil {
		*s.Span, err = bench.Sampled(path, times)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

func (s Span) Type() string { return "span" }

// measuredHolds returns the holds in a result or in the measurements of a process.
func measuredHolds(path string) ([]time.Duration, error) {
	m := sizing.Measured{}
	p, err := service.Read(path)
	if err == nil {
		m, err = service.Measured(p)
	} else if doc, wrong := result.ReadFile(path); wrong == nil {
		m, err = sizing.FromResults(doc.Config.Config, len(doc.Config.Masters), doc.Results)
	}
	times := m.Holds.Samples(bench.MaxSamples)
	if err == nil && len(times) == 0 {
		err = sizing.ErrNoHolds
	}
	return times, err
}

// readSamples reads a duration such as 12ms from each line. It skips empty lines and comments
// after #. Errors name the line.
func readSamples(r io.Reader) (times []time.Duration, err error) {
	lines := bufio.NewScanner(r)
	number := 1
	for ; lines.Scan(); number++ {
		text, _, _ := strings.Cut(lines.Text(), "#")
		if text = strings.TrimSpace(text); text == "" {
			continue
		}
		d, err := time.ParseDuration(text)
		switch {
		case err != nil:
			return nil, fmt.Errorf("line %d: must be a duration with a unit such as 12ms, got %.40q", number, text)
		case len(times) == bench.MaxSamples:
			return nil, fmt.Errorf("line %d: has more than %d samples: take every tenth, say, of a longer file", number, bench.MaxSamples)
		}
		times = append(times, d)
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("line %d: %w", number, err)
	}
	return times, nil
}
