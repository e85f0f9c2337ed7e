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

// Of all processes of one machine that wait for a name, only a few contend at the masters; the others do not even
// connect. The masters notify each contender of every attempt of every other, so hundreds of contenders would block
// each other and load the masters.
//
// A place among the contenders is a file with a flock, which ends with its process. The process writes to its file
// every touchTime. A file that is older than staleTime belongs to a stopped process (Ctrl-Z), and the next waiter
// replaces it. No guarantee depends on the queue: where its files cannot be made, all waiters contend.
const (
	places    = 4
	touchTime = time.Second
	staleTime = 4 * touchTime
)

// queue waits until this process has a place, or ctx ends. leave gives the place up.
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

// isOurs reports whether only this user can write to a folder.
func isOurs(dir string) bool {
	info, err := os.Lstat(dir)
	if err != nil || !info.IsDir() || info.Mode().Perm() != 0o700 {
		return false
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(stat.Uid) == os.Getuid()
}

// take returns a place, or EWOULDBLOCK if another process has it.
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
		err = unix.EWOULDBLOCK // its last owner removed the file after it was opened here
	} else if info, is := f.Stat(); is == nil && time.Since(info.ModTime()) > staleTime {
		remove(path, f)
	}
	f.Close()
	return nil, err
}

// touch writes to a place until it is closed, to show that this process is not stopped.
func touch(place *os.File) {
	for {
		if _, err := place.WriteAt([]byte{0}, 0); err != nil {
			return
		}
		time.Sleep(touchTime)
	}
}

// remove removes a place, unless another process has replaced its file.
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
