package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"muxlock/cmd/lockbench/internal/html"
	"muxlock/cmd/lockbench/internal/plan"
	"muxlock/cmd/lockbench/internal/result"
	"muxlock/cmd/lockbench/internal/text"
	"muxlock/cmd/lockbench/internal/view"
	"muxlock/internal/usage"
)

// formats are the values of -o.
var formats = []string{"text", "json", "bench"}

// few are the formats of commands without a table of runs.
var few = []string{"text", "json"}

// closedPipe ends a run without a text, since nobody reads the output any more.
var closedPipe = usage.Exitf(exitPipe, "")

// sink takes a result: --out or standard output, and --html for the page.
type sink struct {
	format string
	stdout io.Writer
	file   *result.File // nil: standard output
	page   *result.File // nil: no page
}

// open checks that the output can be written, before anything is started.
func open(cmd *cobra.Command, o plan.Output) (_ *sink, err error) {
	if !slices.Contains(o.Formats, o.Format) {
		return nil, usage.Errorf("-o must be one of %s, got %q", strings.Join(o.Formats, ", "), o.Format)
	}
	s := &sink{format: o.Format, stdout: cmd.OutOrStdout()}
	if o.File != "" {
		if s.file, err = result.Create(o.File); err != nil {
			return nil, usage.Errorf("--out: %w", err)
		}
	}
	if o.Page != "" {
		if s.page, err = result.Create(o.Page); err != nil {
			s.close()
			return nil, usage.Errorf("--html: %w", err)
		}
	}
	if s.file != nil && s.page != nil {
		file, _ := s.file.Stat()
		page, _ := s.page.Stat()
		if os.SameFile(file, page) { // by whatever path
			s.close()
			return nil, usage.Errorf("--html and --out name the same file, %s", o.Page)
		}
	}
	return s, nil
}

// close removes files that were not completed.
func (s *sink) close() {
	for _, file := range []*result.File{s.file, s.page} {
		if file != nil {
			file.Abandon()
		}
	}
}

// document writes doc and its page.
func (s *sink) document(doc result.Document) error {
	err := s.write(doc)
	if s.page != nil {
		if failed := complete(s.page, htmlFormat, doc); failed != nil {
			err = errors.Join(err, fmt.Errorf("--html: %w", failed))
		}
	}
	return err
}

// write writes doc. When its file cannot be written, standard output gets doc instead: the run is
// not lost.
func (s *sink) write(doc result.Document) error {
	var lost error
	if s.file != nil {
		err := complete(s.file, s.format, doc)
		if err == nil {
			return nil
		}
		lost = usage.Exitf(exitRun, "--out: %v; the result goes to standard output instead", err)
	}
	err := format(s.stdout, s.format, doc)
	switch {
	case errors.Is(err, syscall.EPIPE):
		err = closedPipe
	case err != nil:
		err = usage.Exitf(exitRun, "the result could not be written: %v", err)
	}
	return errors.Join(lost, err)
}

// complete writes a document to a file, which then gets its name.
func complete(file *result.File, name string, doc result.Document) error {
	if err := format(file, name, doc); err != nil {
		return err
	}
	return file.Commit()
}

// pageOf returns the page of a document.
func pageOf(doc result.Document) view.Page {
	return view.New(doc, traits(doc.Config), again(doc))
}

// format writes a document in one of reportFormats.
func format(w io.Writer, name string, doc result.Document) error {
	switch name {
	case "json":
		return result.JSON(w, doc)
	case "bench":
		return result.WriteBench(w, doc)
	case htmlFormat:
		return html.Write(w, pageOf(doc))
	case svgFormat:
		return html.WritePicture(w, view.Picture(doc))
	}
	return text.Write(w, pageOf(doc), onTerminal(w))
}

// onTerminal reports whether w is a terminal.
func onTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}
