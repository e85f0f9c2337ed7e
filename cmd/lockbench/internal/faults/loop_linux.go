package faults

import (
	"bytes"
	"container/heap"
	"encoding/json"
	"fmt"
	"io"
	"net/netip"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"muxlock/bench"
)

// lineCommand is the only argument of a process that is a Line: this program again, or
// a test of it, so it is looked for before main begins.
const lineCommand = "delay-line"

func init() {
	if len(os.Args) != 2 || os.Args[1] != lineCommand {
		return
	}
	if err := serveLine(); err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", lineCommand, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// loop is all that the process of a Line does, on one thread.
//
// Descriptors are watched in both directions and by their edges: each is read or written
// until the kernel has no more, and what is watched never changes.
type loop struct {
	epoll, timer int
	alarm        time.Time        // what timer is set to; zero: nothing
	handlers     map[int32]func() // of what is watched, by a number that is never used again, as a descriptor is
	last         int32            // such number
	listeners    []*listener
	waiting      flows
	scratch      [64 << 10]byte
	input        []byte // commands, the last one not yet whole
	err          error  // why the loop ends
}

// serveLine returns at the end of its input.
func serveLine() (err error) {
	l := &loop{handlers: map[int32]func(){}}
	if l.epoll, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC); err != nil {
		return err
	}
	if l.timer, err = unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC); err != nil {
		return err
	}
	if err := unix.SetNonblock(unix.Stdin, true); err != nil {
		return err
	}
	l.watch(l.timer, func() { l.alarm = time.Time{} })
	l.watch(unix.Stdin, func() { l.err = l.obey() })
	l.run()
	for _, ln := range l.listeners {
		ln.reset()
	}
	if l.err == io.EOF {
		return nil
	}
	return l.err
}

// watch calls handle when fd may have become readable or writable.
func (l *loop) watch(fd int, handle func()) int32 {
	l.last++
	l.handlers[l.last] = handle
	event := unix.EpollEvent{Events: unix.EPOLLIN | unix.EPOLLOUT | unix.EPOLLRDHUP | unix.EPOLLET, Fd: l.last}
	if err := unix.EpollCtl(l.epoll, unix.EPOLL_CTL_ADD, fd, &event); err != nil {
		l.err = err
	}
	return l.last
}

func (l *loop) run() {
	var events [256]unix.EpollEvent
	for l.err == nil {
		n, err := unix.EpollWait(l.epoll, events[:], -1)
		if err != nil && err != unix.EINTR {
			l.err = err
		}
		for _, e := range events[:max(n, 0)] {
			if handle := l.handlers[e.Fd]; handle != nil {
				handle()
			}
		}
		for len(l.waiting) > 0 && !time.Now().Before(l.waiting[0].marks[0].due) {
			l.waiting[0].deliver()
		}
		l.set()
	}
}

// set sets the timer to what is due first.
func (l *loop) set() {
	if len(l.waiting) == 0 || l.waiting[0].marks[0].due == l.alarm {
		return
	}
	l.alarm = l.waiting[0].marks[0].due
	spec := unix.ItimerSpec{Value: unix.NsecToTimespec(max(1, int64(time.Until(l.alarm))))}
	_ = unix.TimerfdSettime(l.timer, 0, &spec, nil) // cannot fail on an open timerfd
}

// obey carries out the commands of the input.
func (l *loop) obey() error {
	for {
		n, err := unix.Read(unix.Stdin, l.scratch[:])
		if err == unix.EAGAIN {
			break
		}
		if n <= 0 {
			return io.EOF
		}
		l.input = append(l.input, l.scratch[:n]...)
	}
	for {
		line, rest, whole := bytes.Cut(l.input, []byte{'\n'})
		if !whole {
			return nil
		}
		l.input = rest
		var c command
		if err := json.Unmarshal(line, &c); err != nil {
			return err
		}
		a := answer{Proxy: c.Proxy}
		if err := l.do(c, &a); err != nil {
			a.Error = err.Error()
		}
		if err := json.NewEncoder(os.Stdout).Encode(a); err != nil {
			return err
		}
	}
}

func (l *loop) do(c command, a *answer) (err error) {
	if c.Op == opOpen {
		a.Proxy = len(l.listeners)
		a.Addr, err = l.listen(c.Target)
		return err
	}
	ln := l.listeners[c.Proxy]
	switch c.Op {
	case opDelay:
		ln.replies = c.Spans
		for k := range ln.links {
			k.replies.late = newLateness(c.Spans)
		}
	case opDelayRequests:
		ln.requests = c.Spans
	case opCut:
		ln.refuse = c.Refuse
		ln.reset()
	case opHeal:
		ln.refuse = false
	}
	return nil
}

// listener is a Proxy in its process.
type listener struct {
	loop              *loop
	fd                int
	target            unix.SockaddrInet4
	requests, replies []bench.Span
	refuse            bool
	links             map[*link]struct{}
}

func (l *loop) listen(target string) (string, error) {
	to, err := netip.ParseAddrPort(target)
	if err != nil {
		return "", err
	}
	fd, err := socket()
	if err != nil {
		return "", err
	}
	local := unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}
	if err := unix.Bind(fd, &local); err != nil {
		return "", err
	}
	if err := unix.Listen(fd, unix.SOMAXCONN); err != nil {
		return "", err
	}
	at, err := unix.Getsockname(fd)
	if err != nil {
		return "", err
	}
	ln := &listener{
		loop: l, fd: fd, links: map[*link]struct{}{},
		target: unix.SockaddrInet4{Addr: to.Addr().As4(), Port: int(to.Port())},
	}
	l.listeners = append(l.listeners, ln)
	l.watch(fd, ln.accept)
	return netip.AddrPortFrom(netip.AddrFrom4(local.Addr), uint16(at.(*unix.SockaddrInet4).Port)).String(), nil
}

func socket() (int, error) {
	return unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
}

func (ln *listener) accept() {
	for {
		client, _, err := unix.Accept4(ln.fd, unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC)
		if err != nil {
			return // none is left
		}
		ln.connect(client)
	}
}

// reset ends every connection as a crashed host would: with RST, and without what is
// under way.
func (ln *listener) reset() {
	for k := range ln.links {
		for _, fd := range k.fds {
			_ = unix.SetsockoptLinger(fd, unix.SOL_SOCKET, unix.SO_LINGER, &unix.Linger{Onoff: 1})
		}
		k.close()
	}
}

// link is one client's connection and its own to the master. It ends when either does.
type link struct {
	listener          *listener
	fds               [2]int // client, server
	handlers          [2]int32
	requests, replies flow
	closed            bool
}

func (ln *listener) connect(client int) {
	server, err := socket()
	if err != nil {
		unix.Close(client)
		return
	}
	k := &link{listener: ln, fds: [2]int{client, server}}
	ln.links[k] = struct{}{}
	if ln.refuse {
		ln.reset()
		return
	}
	if err := unix.Connect(server, &ln.target); err != nil && err != unix.EINPROGRESS {
		k.close()
		return
	}
	k.requests = flow{link: k, from: client, to: server, late: newLateness(ln.requests)}
	k.replies = flow{link: k, from: server, to: client, late: newLateness(ln.replies)}
	for i, fd := range k.fds {
		_ = unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1)
		k.handlers[i] = ln.loop.watch(fd, []func(){
			func() { k.requests.read(); k.replies.write() },
			func() { k.replies.read(); k.requests.write() },
		}[i])
	}
}

func (k *link) close() {
	if k.closed {
		return
	}
	k.closed = true
	delete(k.listener.links, k)
	for i, fd := range k.fds {
		delete(k.listener.loop.handlers, k.handlers[i])
		unix.Close(fd)
	}
}

// flow is one direction of a link.
type flow struct {
	*link
	from, to int
	late     lateness
	bytes    bytes.Buffer
	ripe     int    // of bytes are due, and to takes no more at the moment
	marks    []mark // of those that are under way, behind the ripe ones; not empty: in loop.waiting
	missed   bool   // from has more, which may come when to takes more
	ended    bool   // nothing comes any more
}

type mark struct {
	due time.Time
	n   int
}

func (f *flow) read() {
	l := f.listener.loop
	for !f.closed && !f.ended {
		if f.missed = f.ripe > 0; f.missed {
			return
		}
		n, err := unix.Read(f.from, l.scratch[:])
		switch {
		case err == unix.EAGAIN:
			return
		case err == unix.EINTR:
		case n <= 0:
			f.ended = true
			f.write()
		default:
			f.bytes.Write(l.scratch[:n])
			f.marks = append(f.marks, mark{time.Now().Add(f.late.next()), n})
			if len(f.marks) == 1 {
				heap.Push(&l.waiting, f)
			}
		}
	}
}

// deliver is for the first of those waiting, when it is due.
func (f *flow) deliver() {
	l := f.listener.loop
	heap.Pop(&l.waiting)
	for now := time.Now(); len(f.marks) > 0 && !now.Before(f.marks[0].due); f.marks = f.marks[1:] {
		f.ripe += f.marks[0].n
	}
	if len(f.marks) > 0 {
		heap.Push(&l.waiting, f)
	}
	f.write()
}

func (f *flow) write() {
	for !f.closed && f.ripe > 0 {
		n, err := unix.Write(f.to, f.bytes.Bytes()[:f.ripe])
		switch err {
		case nil:
			f.bytes.Next(n)
			f.ripe -= n
		case unix.EINTR:
		case unix.EAGAIN:
			return
		default:
			f.close()
		}
	}
	switch {
	case f.ended && len(f.marks) == 0:
		f.close()
	case f.missed:
		f.read()
	}
}

// flows is those that carry something; the first is due first.
type flows []*flow

func (h flows) Len() int           { return len(h) }
func (h flows) Less(i, j int) bool { return h[i].marks[0].due.Before(h[j].marks[0].due) }
func (h flows) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *flows) Push(x any)        { *h = append(*h, x.(*flow)) }
func (h *flows) Pop() any {
	old := *h
	last := old[len(old)-1]
	*h = old[:len(old)-1]
	return last
}
