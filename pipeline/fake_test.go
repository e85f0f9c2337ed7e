package pipeline

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"muxlock/internal/redisfake"
	"muxlock/pipeline/internal/conn"
)

// A fake is a scripted master for tests in virtual time: enough of Redis for the pipeline, over
// net.Pipe, with an in-memory map. Each connection has three goroutines. One reads into an inbox
// without limit, as a kernel does; one executes the inbox in order; one writes the replies. When a
// connection ends, the rest of its inbox is still executed.
type fake struct {
	address string

	mu          sync.Mutex // guards the following
	changed     *sync.Cond
	runID       string
	replication string    // of INFO replication: role, master_replid, second_repl_offset
	received    string    // of INFO stats: what it got as a replica; as Redis 6 if it is empty
	started     time.Time // zero: INFO has no uptime
	data        map[string]value
	loaded      map[string]bool // scripts by SHA-1
	native      conn.Dialect    // commands of newer servers that it has
	delay       time.Duration   // from a command's arrival to its execution
	cost        time.Duration   // that a request takes to be executed, one after the other
	stalled     bool            // nothing is executed on any connection, as in SIGSTOP
	unheard     bool            // what is executed is answered later
	refuse      bool            // dials fail
	silent      bool            // dials hang
	ended       bool
	conns       []*fakeConn
	dials       []time.Time
	log         []logged               // what was executed, in order
	tracked     map[string][]*fakeConn // notified when a name changes, once
	table       int                    // tracking-table-max-keys; 0: no limit
	// hook, if set, answers a command in the server's place; "" leaves it to the server.
	hook func(args []string) string
}

type value struct {
	text string
	ends time.Time
}

// logged is one executed command.
type logged struct {
	at   time.Time
	conn int // number of the connection, from 0
	args []string
}

func (l logged) String() string { return fmt.Sprint(l.conn, " ", strings.Join(l.args, " ")) }

type fakeConn struct {
	f      *fake
	number int
	net    net.Conn

	// Guarded by f.mu:
	inbox  []arrival
	outbox []byte
	held   bool // its inbox is not executed
	mute   bool // its replies are lost
	closed bool // nothing more comes or goes

	tracking, caching bool // CLIENT TRACKING ON; CLIENT CACHING YES was the command before
}

type arrival struct {
	at   time.Time
	args []string
}

func newFake(address string) *fake {
	f := &fake{address: address, runID: "run-" + address, replication: dataSet("master", "data of "+address, "-1"), received: "0", started: time.Now(), data: make(map[string]value), loaded: make(map[string]bool), tracked: make(map[string][]*fakeConn)}
	f.changed = sync.NewCond(&f.mu)
	return f
}

// set changes the fake's settings.
func (f *fake) set(change func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change()
	f.changed.Broadcast()
}

// answer has a function answer in the fake's place, if it likes to.
func (f *fake) answer(hook func(args []string) string) { f.set(func() { f.hook = hook }) }

// cut closes all connections. What they have sent is not executed any more.
func (f *fake) cut() { f.set(f.cutLocked) }

func (f *fake) cutLocked() {
	for _, c := range f.conns {
		c.inbox = nil
		c.closeLocked()
	}
}

// restart makes it another server process: no connection, no data, no scripts.
// leave ends the connections of the fake, which refuses others until it comes back.
func (f *fake) leave() { f.set(func() { f.refuse = true; f.cutLocked() }) }

func (f *fake) comeBack() { f.set(func() { f.refuse = false }) }

func (f *fake) restart() { f.set(f.restartLocked) }

func (f *fake) restartLocked() {
	f.cutLocked()
	f.runID += "+"
	f.replication = dataSet("master", "data of "+f.runID, "-1")
	f.started = time.Now()
	clear(f.data)
	clear(f.loaded)
}

// hold stops the execution on the connections that are open now; new ones are served.
func (f *fake) hold(on bool) {
	f.set(func() {
		for _, c := range f.conns {
			c.held = on
		}
	})
}

// end stops the fake's goroutines.
func (f *fake) end() {
	f.set(func() {
		f.ended = true
		f.cutLocked()
	})
}

// keys returns the names that are locked.
func (f *fake) keys() (names []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for name := range f.data {
		if _, ok := f.getLocked(name); ok {
			names = append(names, name)
		}
	}
	return names
}

// commands returns the executed commands that speak of name, or all for "".
func (f *fake) commands(name string) (found []logged) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, l := range f.log {
		for _, arg := range l.args {
			if name == "" || arg == name {
				found = append(found, l)
				break
			}
		}
	}
	return found
}

func (f *fake) dialTimes() []time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.dials)
}

func (f *fake) dial(ctx context.Context, _ string, _ *net.Dialer, _ *tls.Config) (net.Conn, error) {
	f.mu.Lock()
	f.dials = append(f.dials, time.Now())
	silent, refuse := f.silent, f.refuse
	f.mu.Unlock()
	if silent {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	if refuse {
		return nil, errors.New("connection refused")
	}
	theirs, ours := net.Pipe()
	f.mu.Lock()
	defer f.mu.Unlock()
	c := &fakeConn{f: f, number: len(f.conns), net: ours}
	f.conns = append(f.conns, c)
	if f.ended {
		c.closeLocked()
	}
	go c.receive()
	go c.execute()
	go c.send()
	return theirs, nil
}

func (c *fakeConn) closeLocked() {
	c.closed = true
	c.net.Close()
	c.f.changed.Broadcast()
}

// receive reads commands until the client closes.
func (c *fakeConn) receive() {
	in, buf := "", make([]byte, 1<<16)
	for {
		n, err := c.net.Read(buf)
		in += string(buf[:n])
		c.f.mu.Lock()
		args, rest, bad := redisfake.CutCommand(in)
		for ; bad == nil; args, rest, bad = redisfake.CutCommand(in) {
			c.inbox, in = append(c.inbox, arrival{time.Now(), args}), rest
		}
		if err != nil || !errors.Is(bad, io.ErrUnexpectedEOF) {
			c.closeLocked()
			c.f.mu.Unlock()
			return
		}
		c.f.changed.Broadcast()
		c.f.mu.Unlock()
	}
}

// execute runs commands until the connection is closed and its inbox empty.
func (c *fakeConn) execute() {
	f := c.f
	f.mu.Lock()
	defer f.mu.Unlock()
	for {
		for len(c.inbox) == 0 && !c.closed || len(c.inbox) > 0 && (c.held || f.stalled) && !f.ended {
			f.changed.Wait()
		}
		if len(c.inbox) == 0 || f.ended {
			return
		}
		if due := c.inbox[0].at.Add(f.delay); time.Now().Before(due) {
			f.mu.Unlock()
			time.Sleep(time.Until(due))
			f.mu.Lock()
			continue // stalled or cut meanwhile?
		}
		args := c.inbox[0].args
		c.inbox = c.inbox[1:]
		if f.cost > 0 {
			f.mu.Unlock()
			time.Sleep(f.cost * time.Duration(requestsIn(args)))
			f.mu.Lock()
		}
		f.log = append(f.log, logged{time.Now(), c.number, args})
		reply := ""
		if f.hook != nil {
			reply = f.hook(args)
		}
		if reply == "" {
			reply = f.answerLocked(args)
		}
		c.trackLocked(args, reply)
		c.replyLocked(reply)
		f.changed.Broadcast()
	}
}

func (c *fakeConn) replyLocked(reply string) {
	if !c.mute {
		c.outbox = append(c.outbox, reply...)
	}
	c.f.changed.Broadcast()
}

// trackLocked is CLIENT TRACKING ON OPTIN: the command after CLIENT CACHING YES arms its key.
func (c *fakeConn) trackLocked(args []string, reply string) {
	f := c.f
	if f.table > 0 && len(f.tracked) > f.table { // as a server does before each command
		for name := range f.tracked {
			f.touchLocked(name)
			break
		}
	}
	if c.caching && args[0] == "PTTL" && reply[0] == ':' {
		f.tracked[args[1]] = append(f.tracked[args[1]], c)
	}
	c.caching = c.tracking && strings.Join(args, " ") == "CLIENT CACHING YES" && reply[0] == '+'
	c.tracking = c.tracking || strings.Join(args, " ") == "CLIENT TRACKING ON OPTIN" && reply[0] == '+'
}

// touchLocked notifies of a change.
func (f *fake) touchLocked(name string) {
	for _, c := range f.tracked[name] {
		c.replyLocked(">2\r\n" + bulk("invalidate") + "*1\r\n" + bulk(name))
	}
	delete(f.tracked, name)
}

// send writes replies, as many as there are at a time.
func (c *fakeConn) send() {
	f := c.f
	for {
		f.mu.Lock()
		for (len(c.outbox) == 0 || f.unheard) && !c.closed {
			f.changed.Wait()
		}
		out := c.outbox
		c.outbox = nil
		f.mu.Unlock()
		if len(out) == 0 {
			return
		}
		if _, err := c.net.Write(out); err != nil {
			return
		}
	}
}
