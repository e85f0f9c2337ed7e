package result

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"muxlock/bench"
)

// File is a result file in the making. Its text is in NAME.partial until Commit. So the file NAME
// is always complete, and an earlier one stays until the new one is. A device or a pipe is written
// directly.
type File struct {
	*os.File
	name string // empty: nothing to rename
}

// Create checks that name can be written, and opens it. The caller ends it with Commit or
// Abandon.
func Create(name string) (*File, error) {
	if real, err := filepath.EvalSymlinks(name); err == nil {
		name = real // a rename would replace the symbolic link
	}
	mode := fs.FileMode(0o666)
	if info, err := os.Stat(name); err == nil {
		// Opening the file itself shows whether it may be written.
		f, err := os.OpenFile(name, os.O_WRONLY, 0)
		if err != nil || !info.Mode().IsRegular() {
			return &File{File: f}, err
		}
		f.Close()
		mode = info.Mode().Perm()
	}
	f, err := os.OpenFile(name+".partial", os.O_WRONLY|os.O_CREATE|os.O_TRUNC, mode)
	if err != nil {
		return nil, err
	}
	return &File{f, name}, nil
}

// Commit syncs the file to disk and gives it its name. If that fails, Commit removes the partial
// file.
func (f *File) Commit() error {
	if f.name == "" {
		return f.Close()
	}
	err := errors.Join(f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.File.Name(), f.name)
	}
	if err != nil {
		os.Remove(f.File.Name())
		return fmt.Errorf("%s: %w", f.name, err)
	}
	return nil
}

// Abandon removes the partial file; an earlier file of that name stays. After Commit it does
// nothing.
func (f *File) Abandon() {
	if f.Close() == nil && f.name != "" {
		os.Remove(f.File.Name())
	}
}

// documentMost bounds the bytes of Read: a hundred times the document of a long run.
const documentMost = 64 << 20

// ReadFile is Read of a file, or of standard input for the name -. Its errors name the file.
func ReadFile(name string) (*Document, error) {
	f := os.Stdin
	if name != "-" {
		var err error
		if f, err = os.Open(name); err != nil {
			return nil, fmt.Errorf("%s cannot be read: %w", name, err)
		}
		defer f.Close()
	}
	doc, err := Read(f)
	if err != nil {
		return nil, fmt.Errorf("%s %w", name, err)
	}
	return doc, nil
}

// Read decodes a document, at most 64 MB. In the document every result has its name and its
// latencies, so users need not check. The error says what the text is instead; the caller puts
// the file's name before it.
func Read(r io.Reader) (*Document, error) {
	text, err := io.ReadAll(io.LimitReader(r, documentMost+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("cannot be read: %w", err)
	case len(text) > documentMost:
		return nil, fmt.Errorf("is larger than %d MB, which no result of lockbench is", documentMost>>20)
	case len(bytes.TrimSpace(text)) == 0:
		return nil, errors.New("is empty")
	case bytes.HasPrefix(bytes.TrimSpace(text), []byte("<")):
		return nil, errors.New("is not JSON but a page: a result is kept with -o json --out FILE")
	}
	doc := &Document{}
	if err := decode(text, doc); err != nil {
		return nil, err
	}
	for i, r := range doc.Results {
		if err := whole(r); err != nil {
			return nil, fmt.Errorf("is damaged: result %d %w", i+1, err)
		}
	}
	if doc.Sweep != nil && slices.ContainsFunc(doc.Sweep.results(), func(i int) bool { return i < 0 || i >= len(doc.Results) }) {
		return nil, errors.New("is damaged: its sweep names results that are not there")
	}
	return doc, nil
}

// decode accepts a document of a known version only. A document of another version may not fit
// the fields; the error has its version all the same.
func decode(text []byte, doc *Document) error {
	err := json.Unmarshal(text, doc)
	var syntax *json.SyntaxError
	switch {
	case errors.As(err, &syntax) && syntax.Error() == "unexpected end of JSON input":
		return fmt.Errorf("is cut off after %d bytes", len(text))
	case errors.As(err, &syntax):
		return fmt.Errorf("is not JSON: %w at byte %d", err, syntax.Offset)
	case doc.Tool.Name != "lockbench":
		return errors.New("is JSON, but no result of lockbench")
	case doc.SchemaVersion != SchemaVersion:
		return fmt.Errorf("was made by another lockbench: schema %d, this one reads %d", doc.SchemaVersion, SchemaVersion)
	case err != nil:
		return fmt.Errorf("is damaged: %w", err)
	case doc.Results == nil:
		return errors.New("is of lockbench, but holds no results")
	}
	return nil
}

// whole returns an error that says which required part r lacks.
func whole(r *bench.Result) error {
	switch {
	case r == nil:
		return errors.New("is null")
	case r.Impl == "":
		return errors.New("has no impl")
	case r.Latency[bench.AcquireTime] == nil || r.Latency[bench.ReleaseTime] == nil || r.Latency[bench.CycleTime] == nil:
		return errors.New("lacks a latency: acquire, release or cycle")
	case r.DurationS < 0:
		return errors.New("has a negative duration_s")
	}
	return nil
}
