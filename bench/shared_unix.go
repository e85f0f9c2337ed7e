//go:build unix && !aix

package bench

import (
	"os"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// SharesMemory reports whether runs of several processes are possible here.
const SharesMemory = true

// Monotonic is CLOCK_MONOTONIC in ns, which all processes of a machine share.
func Monotonic() int64 {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts); err != nil {
		panic(err) // every system of this file has it
	}
	return ts.Nano()
}

// mapTable maps the table of a run from f. The caller calls unmap when no worker is left.
func mapTable(f *os.File, cfg Config) (t *table, unmap func(), err error) {
	words := tableWords(cfg)
	mem, err := unix.Mmap(int(f.Fd()), 0, words*8, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, nil, err
	}
	first := (*atomic.Int64)(unsafe.Pointer(unsafe.SliceData(mem))) // a page is aligned for an Int64
	return tableOf(cfg, unsafe.Slice(first, words)), func() { _ = unix.Munmap(mem) }, nil
}
