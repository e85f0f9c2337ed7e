package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"syscall"

	"muxlock/bench"
	"muxlock/cmd/lockbench/internal/output"
)

// formats is what -o takes.
var formats = []string{"text", "json", "ndjson", "csv", "bench"}

func checkFormat(format string) error {
	if !slices.Contains(formats, format) {
		return usagef("-o must be one of %s, got %q", strings.Join(formats, ", "), format)
	}
	return nil
}

// closedPipe ends a run that nobody reads any more: quietly, as tools do.
var closedPipe = verdict{exitPipe, ""}

// sink is where a result goes: --out, or standard output.
type sink struct {
	p      *plan
	stdout io.Writer
	file   *output.File // nil: standard output
}

// openSink finds out whether --out can be written, before anything is started.
func openSink(p *plan, stdout io.Writer) (*sink, error) {
	s := &sink{p: p, stdout: stdout}
	if p.out == "" {
		return s, nil
	}
	file, err := output.Create(p.out)
	s.file = file
	return s, err
}

// close leaves nothing behind of a file that was not written.
func (s *sink) close() {
	if s.file != nil {
		s.file.Abandon()
	}
}

func (s *sink) writer() io.Writer {
	if s.file != nil {
		return s.file
	}
	return s.stdout
}

// seconds writes lines during the run, which ends when nobody reads them.
func (s *sink) seconds(cancel context.CancelCauseFunc) *output.Seconds {
	return output.NewSeconds(s.writer(), func(err error) {
		if errors.Is(err, syscall.EPIPE) {
			cancel(err)
		}
	})
}

// write writes the result. When the file takes it not, standard output gets it, so
// that a run was not for nothing.
func (s *sink) write(doc output.Document) error {
	if s.file == nil {
		return writeError(format(s.stdout, s.p, doc))
	}
	err := format(s.file, s.p, doc)
	if err == nil {
		err = s.file.Commit()
	}
	if err == nil {
		return nil
	}
	return errors.Join(fmt.Errorf("--out: %w; the result goes to standard output instead", err), writeError(format(s.stdout, s.p, doc)))
}

func writeError(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, syscall.EPIPE):
		return closedPipe
	}
	return fmt.Errorf("the result could not be written: %w", err)
}

// profileVerdict writes the last line, beside a document rather than into it.
func (s *sink) profileVerdict(stderr io.Writer, pass bool) {
	w := stderr
	if s.file != nil || s.p.format == "text" {
		w = s.stdout
	}
	word := "FAIL"
	if pass {
		word = "PASS"
	}
	fmt.Fprintln(w, word) // the exit code says the same
}

// format writes a document in the form that the plan asks for.
func format(w io.Writer, p *plan, doc output.Document) error {
	switch p.format {
	case "json":
		return output.JSON(w, doc)
	case "ndjson":
		return output.NDJSON(w, doc)
	case "csv":
		return output.CSV(w, doc)
	case "bench":
		return bench.WriteBench(w, doc.Results)
	}
	switch p.command {
	case "compare":
		return output.Compare(w, doc, caveats(p.impls))
	case "sweep":
		return output.Sweep(w, doc, caveats(p.impls))
	}
	return output.Run(w, doc, caveats(p.impls))
}
