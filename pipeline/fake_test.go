package pipeline

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"muxlock/internal/redisfake"
	"muxlock/pipeline/internal/conn"
	"muxlock/scripts"
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

// cut closes all connections. What they have sent is not executed any more.
func (f *fake) cut() { f.set(f.cutLocked) }

func (f *fake) cutLocked() {
	for _, c := range f.conns {
		c.inbox = nil
		c.closeLocked()
	}
}

// restart makes it another server process: no connection, no data, no scripts.
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
	in := bufio.NewReaderSize(c.net, 1<<20)
	for {
		args, err := redisfake.ReadCommand(in)
		c.f.mu.Lock()
		if err != nil {
			c.closeLocked()
			c.f.mu.Unlock()
			return
		}
		c.inbox = append(c.inbox, arrival{time.Now(), args})
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

func (f *fake) getLocked(name string) (string, bool) {
	v, ok := f.data[name]
	if ok && !v.ends.IsZero() && !time.Now().Before(v.ends) {
		delete(f.data, name)
		return "", false
	}
	return v.text, ok
}

func (f *fake) answerLocked(args []string) string {
	switch strings.ToUpper(args[0]) {
	case "HELLO":
		return "%2\r\n+proto\r\n:3\r\n+version\r\n+7.0.15\r\n"
	case "CLIENT":
		return "+OK\r\n"
	case "PTTL":
		v := f.data[args[1]]
		if _, ok := f.getLocked(args[1]); !ok {
			return ":-2\r\n"
		}
		return fmt.Sprintf(":%d\r\n", time.Until(v.ends).Milliseconds())
	case "PING":
		return "+PONG\r\n"
	case "INFO":
		stats := "# Stats\r\n"
		if f.received != "" {
			stats += "total_net_repl_input_bytes:" + f.received + "\r\n"
		}
		switch args[len(args)-1] {
		case "replication":
			return bulk(f.replication)
		case "stats":
			return bulk(stats)
		}
		info := "# Server\r\nrun_id:" + f.runID + "\r\nloading:0\r\ncluster_enabled:0\r\n" + f.replication + stats
		if !f.started.IsZero() {
			info += fmt.Sprintf("uptime_in_seconds:%d\r\n", time.Since(f.started)/time.Second)
		}
		return bulk(info)
	case "SCRIPT":
		for _, s := range append(scripts.All(true), scripts.Inspect) {
			if s.Source == args[2] {
				f.loaded[s.SHA1] = true
				return bulk(s.SHA1)
			}
		}
	case "SET":
		if f.acquireLocked(args[1], args[2], args[5]) {
			return "+OK\r\n"
		}
		return "_\r\n"
	case "GET":
		if text, ok := f.getLocked(args[1]); ok {
			return bulk(text)
		}
		return "_\r\n"
	case "DEL":
		for _, name := range args[1:] {
			delete(f.data, name)
			f.touchLocked(name)
		}
		return ":1\r\n"
	case "MSETEX":
		if f.native&conn.Msetex != 0 {
			return fmt.Sprintf(":%d\r\n", f.acquireAllLocked(args))
		}
	case "DELEX":
		if f.native&conn.Delex != 0 {
			return fmt.Sprintf(":%d\r\n", max(f.releaseLocked(args[1], args[3]), 0))
		}
	case "DELIFEQ":
		if f.native&conn.Delifeq != 0 {
			return fmt.Sprintf(":%d\r\n", max(f.releaseLocked(args[1], args[2]), 0))
		}
	case "EVALSHA":
		count, err := strconv.Atoi(args[2])
		if err != nil {
			panic(err)
		}
		return f.evalLocked(args[1], count, args[3:])
	}
	return "-ERR unknown command\r\n"
}

func (f *fake) evalLocked(sha string, count int, args []string) string {
	if !f.loaded[sha] {
		return "-NOSCRIPT No matching script. Please use EVAL.\r\n"
	}
	switch sha {
	case scripts.Release.SHA1:
		return fmt.Sprintf(":%d\r\n", f.releaseLocked(args[0], args[1]))
	case scripts.Inspect.SHA1:
		text, ok := f.getLocked(args[0])
		if !ok {
			return "_\r\n"
		}
		return bulk(fmt.Sprint(time.Until(f.data[args[0]].ends).Milliseconds(), " ", text))
	case scripts.Extend.SHA1:
		return fmt.Sprintf(":%d\r\n", f.extendLocked(args[0], args[1], args[2]))
	}
	votes, n := []byte{}, 0
	for _, e := range batchEntries(append([]string{"EVALSHA", sha, strconv.Itoa(count)}, args...)) {
		granted := false
		if e.op == Release {
			granted = f.releaseLocked(e.name, e.token) == 1
		} else {
			granted = f.extendLocked(e.name, e.token, e.ms) == 1
		}
		if votes = append(votes, '0'); granted {
			votes[len(votes)-1] = '1'
			n++
		}
	}
	if n == count {
		return bulk("")
	}
	return bulk(string(votes))
}

// requestsIn returns how many requests a command carries.
func requestsIn(args []string) int {
	count := map[string]int{"EVALSHA": 2, "MSETEX": 1}[args[0]]
	if count == 0 {
		return 1
	}
	n, _ := strconv.Atoi(args[count])
	return n
}

// A batchEntry is what one entry of the batch script asks for.
type batchEntry struct {
	op              Op
	name, token, ms string
}

// batchEntries reads a call of the batch script, as the script does.
func batchEntries(args []string) (entries []batchEntry) {
	n, err := strconv.Atoi(args[2])
	if err != nil {
		panic(err)
	}
	names, tokens, runs := args[3:3+n], args[3+n:3+2*n], args[3+2*n:]
	for ; len(runs) > 0; runs = runs[2:] {
		count, err := strconv.Atoi(runs[1])
		if err != nil {
			panic(err)
		}
		for range count {
			e := batchEntry{name: names[len(entries)], token: tokens[len(entries)]}
			if e.op = Release; runs[0] != "-" {
				e.op, e.ms = Extend, runs[0]
			}
			entries = append(entries, e)
		}
	}
	return entries
}

func (f *fake) acquireLocked(name, token, ms string) bool {
	if _, held := f.getLocked(name); held {
		return false
	}
	f.data[name] = value{token, time.Now().Add(millisOf(ms))}
	f.touchLocked(name)
	return true
}

// acquireAllLocked is MSETEX n name token ... NX PX ms. The last value of a name counts.
func (f *fake) acquireAllLocked(args []string) int {
	n, err := strconv.Atoi(args[1])
	if err != nil {
		panic(err)
	}
	pairs, ms := args[2:2+2*n], args[len(args)-1]
	for i := 0; i < len(pairs); i += 2 {
		if _, held := f.getLocked(pairs[i]); held {
			return 0
		}
	}
	for i := 0; i < len(pairs); i += 2 {
		f.data[pairs[i]] = value{pairs[i+1], time.Now().Add(millisOf(ms))}
		f.touchLocked(pairs[i])
	}
	return 1
}

func (f *fake) releaseLocked(name, token string) int {
	switch text, ok := f.getLocked(name); {
	case !ok:
		return -1
	case text != token:
		return 0
	}
	delete(f.data, name)
	f.touchLocked(name)
	return 1
}

func (f *fake) extendLocked(name, token, ms string) int {
	switch text, ok := f.getLocked(name); {
	case !ok:
		return -1
	case text != token:
		return 0
	}
	if ends := time.Now().Add(millisOf(ms)); ends.After(f.data[name].ends) {
		f.data[name] = value{token, ends}
		f.touchLocked(name)
	}
	return 1
}

func millisOf(text string) time.Duration {
	n, err := strconv.Atoi(text)
	if err != nil {
		panic(err)
	}
	return time.Duration(n) * time.Millisecond
}

// dataSet is the section of INFO that identifies it.
func dataSet(role, id, offset string) string {
	return "# Replication\r\nrole:" + role + "\r\nmaster_replid:" + id + "\r\nsecond_repl_offset:" + offset + "\r\n"
}

func bulk(text string) string { return fmt.Sprintf("$%d\r\n%s\r\n", len(text), text) }
