//go:build unix

package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"muxlock/engine"
)

// Of all processes of one machine that wait for a name, places contend for it at the masters;
// the others do not even connect. Each that contends is notified of every attempt of every
// other one, so hundreds would keep each other, and the masters, from getting anywhere.
//
// A place is a file with a flock, which ends with its process. It is written to again and again; when
// that has not happened for staleTime its process is stopped, as by Ctrl-Z, and another one replaces
// the file. Nothing rests on it: where there can be no such file, everybody contends.
const (
	places    = 4
	touchTime = time.Second
	staleTime = 4 * touchTime
)

// queue waits until this process has a place, or ctx ends. leave gives it to the next one.
func queue(ctx context.Context, cfg engine.Config, name string) (leave func(), err error) {
	dir := filepath.Join(os.TempDir(), fmt.Sprintf("muxlock-%d", os.Getuid()))
	if err := os.Mkdir(dir, 0o700); err != nil && !isOurs(dir) {
		return func() {}, nil
	}
	sum := sha256.Sum256([]byte(strings.Join(cfg.Masters, ",") + "\n" + cfg.Prefix + name))
	base := filepath.Join(dir, hex.EncodeToString(sum[:8])+".")
	for {
		for n := range places {
			path := base + string(rune('0'+n))
			place, err := take(path)
			if err == nil {
				go touch(place)
				return func() { remove(path, place); place.Close() }, nil
			}
			if !errors.Is(err, unix.EWOULDBLOCK) {
				return func() {}, nil
			}
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("%w: behind others of this machine: %w", engine.ErrTaken, ctx.Err())
		case <-time.After(20*time.Millisecond + rand.N(80*time.Millisecond)):
		}
	}
}

// isOurs reports whether nobody else can put anything into a folder.
func isOurs(dir string) bool {
	info, err := os.Lstat(dir)
	if err != nil || !info.IsDir() || info.Mode().Perm() != 0o700 {
		return false
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(stat.Uid) == os.Getuid()
}

// take returns a place, or EWOULDBLOCK if another one has it.
func take(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if err == nil {
		if isAt(path, f) {
			return f, nil
		}
		err = unix.EWOULDBLOCK // who had it has removed it meanwhile
	} else if info, is := f.Stat(); is == nil && time.Since(info.ModTime()) > staleTime {
		remove(path, f)
	}
	f.Close()
	return nil, err
}

// touch shows that this process is not stopped, until a place is closed.
func touch(place *os.File) {
	for {
		if _, err := place.WriteAt([]byte{0}, 0); err != nil {
			return
		}
		time.Sleep(touchTime)
	}
}

// remove removes a place, unless another one has replaced it.
func remove(path string, place *os.File) {
	if isAt(path, place) {
		os.Remove(path)
	}
}

func isAt(path string, f *os.File) bool {
	ours, closed := f.Stat()
	there, gone := os.Stat(path)
	return closed == nil && gone == nil && os.SameFile(ours, there)
}
