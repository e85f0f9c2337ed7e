package result

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// File is a result file in the making. Until Commit what is written lies beside it
// in NAME.partial, so that a file that bears the name is always whole, and an
// earlier one stays until there is something better. What is no plain file, such as
// a device or a pipe, is written as it is.
type File struct {
	*os.File
	name string // empty: nothing to rename
}

// Create finds out whether name can be written, and opens it. End it with Commit or
// Abandon.
func Create(name string) (*File, error) {
	if real, err := filepath.EvalSymlinks(name); err == nil {
		name = real // a rename would replace the link
	}
	mode := fs.FileMode(0o666)
	if info, err := os.Stat(name); err == nil {
		// Opened as it is, so that one that must not be written is found out.
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

// Commit gives the file its name once all of it is on the disk. When that fails the
// partial file is gone too, unless it is no plain file.
func (f *File) Commit() error {
	if f.name == "" {
		return f.Close()
	}
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		os.Remove(f.File.Name())
		return fmt.Errorf("%s: %w", f.name, err)
	}
	return os.Rename(f.File.Name(), f.name)
}

// Abandon leaves nothing behind; an earlier file of that name stays. It does no harm
// after Commit.
func (f *File) Abandon() {
	if f.Close() == nil && f.name != "" {
		os.Remove(f.File.Name())
	}
}
