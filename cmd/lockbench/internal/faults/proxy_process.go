package faults

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"runtime"
	"slices"
	"sync"
	"time"

	"muxlock/bench"
	"muxlock/internal/clock"
)

// Process names the process of a Line, for child.Talk.
const Process = "delay-line"

// Serve is the process of a Line. It returns at the end of its input; its connections end with
// the process. It uses one processor, so that a wake-up never waits for another thread.
func Serve(_ context.Context, in io.Reader, out io.Writer) error {
	runtime.GOMAXPROCS(1)
	alarms := clock.NewAlarms()
	from, to := json.NewDecoder(in), json.NewEncoder(out)
	var all []*listener
	for {
		var c command
		err := from.Decode(&c)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		a := answer{Proxy: c.Proxy}
		if c.Target == "" {
			all[c.Proxy].delay(c.Spans)
		} else if ln, err := listen(c.Target, alarms); err != nil {
			a.Error = err.Error()
		} else {
			all = append(all, ln)
			a.Proxy, a.Addr = len(all)-1, ln.Addr().String()
		}
		if err := to.Encode(a); err != nil {
			return err
		}
	}
}

// listener is a Proxy in the process of the Line.
type listener struct {
	net.Listener
	target string
	alarms *clock.Alarms

	mu    sync.Mutex // guards the following
	spans []bench.Span
	flows map[*flow]struct{}
}

func listen(target string, alarms *clock.Alarms) (*listener, error) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	l := &listener{Listener: ln, target: target, alarms: alarms, flows: map[*flow]struct{}{}}
	go l.accept()
	return l, nil
}

func (ln *listener) delay(spans []bench.Span) {
	ln.mu.Lock()
	defer ln.mu.Unlock()
	ln.spans = spans
	for f := range ln.flows {
		f.delay(spans)
	}
}

func (ln *listener) accept() {
	for {
		client, err := ln.Accept()
		if err != nil {
			return
		}
		go ln.serve(client)
	}
}

// serve runs until either side closes, then closes both.
func (ln *listener) serve(client net.Conn) {
	defer client.Close()
	server, err := net.Dial("tcp", ln.target)
	if err != nil {
		return
	}
	defer server.Close()
	replies := &flow{more: make(chan struct{}, 1)}
	ln.mu.Lock()
	replies.delay(ln.spans)
	ln.flows[replies] = struct{}{}
	ln.mu.Unlock()
	go func() {
		_, _ = io.Copy(server, client)
		server.Close() // ends carry
	}()
	replies.carry(client, server, ln.alarms)
	ln.mu.Lock()
	delete(ln.flows, replies)
	ln.mu.Unlock()
}

// flow delays the replies of one connection.
type flow struct {
	mu    sync.Mutex             // guards the following
	draws []func() time.Duration // a reply is late by their sum
	queue []chunk                // delayed replies
	ended bool                   // no more replies will come
	more  chan struct{}          // capacity 1: queue or ended has changed
}

type chunk struct {
	bytes []byte
	due   time.Time
}

func (f *flow) delay(spans []bench.Span) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.draws = nil
	for _, s := range spans {
		f.draws = append(f.draws, s.Sampler(rand.Uint64(), 0))
	}
}

// lateLocked draws the delay of the next reply.
func (f *flow) lateLocked() (sum time.Duration) {
	for _, draw := range f.draws {
		sum += draw()
	}
	return sum
}

// carry copies replies until either end is closed.
func (f *flow) carry(to, from net.Conn, alarms *clock.Alarms) {
	go f.read(from)
	alarm := clock.NewAlarm()
	for ended := false; !ended; {
		<-f.more
		f.mu.Lock()
		queue := f.queue
		f.queue, ended = nil, f.ended
		f.mu.Unlock()
		for _, c := range queue { // in order: no reply overtakes another
			if d := time.Until(c.due); d > 0 {
				alarms.Sleep(d, alarm, nil)
			}
			if _, err := to.Write(c.bytes); err != nil {
				ended = true
				break
			}
		}
	}
}

// read queues replies without waiting for delayed ones.
func (f *flow) read(from net.Conn) {
	buf := make([]byte, 64<<10)
	for {
		n, err := from.Read(buf)
		f.mu.Lock()
		if f.ended = err != nil; !f.ended {
			f.queue = append(f.queue, chunk{slices.Clone(buf[:n]), time.Now().Add(f.lateLocked())})
		}
		f.mu.Unlock()
		select {
		case f.more <- struct{}{}:
		default:
		}
		if err != nil {
			return
		}
	}
}
