package pipeline

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"muxlock/internal/resp"
	"muxlock/pipeline/internal/conn"
	"muxlock/scripts"
)

// Reading what the masters have under a name, for people: no rule of the lock rests on it.

const (
	// MaxValue is the longest string that is taken for a lock's value, in bytes.
	MaxValue = 512
	// NoExpiry is the time that is left to a key that does not expire.
	NoExpiry = time.Duration(math.MaxInt64)
	// mostInspections are under way at once: others wait.
	mostInspections = 64
)

// ErrNotALock is matched where a key holds what no lock has as its value: another type, an empty
// string, one longer than MaxValue.
var ErrNotALock = errors.New("muxlock: key holds no lock")

// notALock is the class of the error with which the script says so of a string.
const notALock = "MUXLOCKVALUE"

var errUnanswered = errors.New("has not answered yet")

// A Value is what one master has under a name. It is a token: it must not be printed.
type Value struct {
	Address string
	Token   string        // "": the name is free there
	Left    time.Duration // to live, when the master answered; or NoExpiry
	Err     error         // why it was not asked or has not answered, or ErrNotALock, or ErrDenied
}

// Inspect asks all masters that are up, side by side and behind what they have been sent, what they
// have under a name: in the order of Config.Masters. It blocks until all have answered, or ctx ends,
// or Config.Timeout has passed; those that have not answered then have that as their Err.
//
// Errors: ErrClosed; ctx's error if it ends before anything is sent.
func (p *Pipeline) Inspect(ctx context.Context, name string) ([]Value, error) {
	select {
	case p.inspections <- struct{}{}:
		defer func() { <-p.inspections }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	answers := make(chan answer, len(p.masters))
	values, open, err := p.sendInspections(name, answers)
	if err != nil {
		return nil, err
	}
	timeout := time.NewTimer(p.timeout)
	defer timeout.Stop()
	for ; open > 0; open-- {
		select {
		case a := <-answers:
			v := &values[a.master]
			v.Token, v.Left, v.Err = a.token, a.left, a.err
		case <-ctx.Done():
			return missing(values, ctx.Err()), nil
		case <-timeout.C:
			return missing(values, errHung), nil
		}
	}
	return values, nil
}

// sendInspections asks the masters that are up, and says of the others why they are away.
func (p *Pipeline) sendInspections(name string, answers chan<- answer) (values []Value, open int, err error) {
	p.mu.Lock()
	defer p.unlock()
	if p.closed {
		return nil, 0, ErrClosed
	}
	now := time.Now()
	for _, m := range p.masters {
		v := Value{Address: m.address, Err: m.cause}
		if m.up {
			v.Err = errUnanswered
			m.sendLocked(newInspection(name, answers), now)
			open++
		}
		values = append(values, v)
	}
	return values, open, nil
}

// missing gives the masters that have not answered the reason.
func missing(values []Value, why error) []Value {
	for i := range values {
		if values[i].Err == errUnanswered {
			values[i].Err = why
		}
	}
	return values
}

// An inspection reads a name on one master.
type inspection struct {
	conn.Batch
	answers chan<- answer // has room for all masters
}

type answer struct {
	master int
	token  string
	left   time.Duration
	err    error
}

func newInspection(name string, answers chan<- answer) *inspection {
	i := &inspection{answers: answers}
	i.Begin(3)
	i.Add("SCRIPT", "LOAD", scripts.Inspect.Source)
	i.Begin(5)
	i.Add("EVALSHA", scripts.Inspect.SHA1, "1", name, strconv.Itoa(MaxValue))
	return i
}

// answered never ends the connection: that is left to what the lock needs.
func (i *inspection) answered(m *master, replies []resp.Reply) error {
	a := answer{master: m.index}
	if a.err = replies[0].Err(); a.err == nil {
		a.token, a.left, a.err = readValue(replies[1])
	}
	i.answers <- a
	return nil
}

func (i *inspection) requests() int { return 1 }

func (i *inspection) lostLocked(m *master) { i.answers <- answer{master: m.index, err: m.cause} }

// readValue reads the answer of the script.
func readValue(reply resp.Reply) (token string, left time.Duration, err error) {
	if err := reply.Err(); err != nil {
		return "", 0, whyNoValue(err)
	}
	if reply.Kind == resp.Null {
		return "", 0, nil
	}
	ms, token, _ := strings.Cut(reply.Text, " ")
	n, err := strconv.ParseInt(ms, 10, 64)
	switch {
	case err != nil || token == "":
		return "", 0, fmt.Errorf("%w to the inspection", conn.ErrUnexpected)
	case n < 0:
		return token, NoExpiry, nil
	}
	return token, time.Duration(n) * time.Millisecond, nil
}

// whyNoValue gives the error of the script its type.
func whyNoValue(err error) error {
	switch {
	case conn.IsDenied(err):
		return conn.AsDenied(err)
	case conn.IsOtherType(err):
		return fmt.Errorf("%w: %w", ErrNotALock, err)
	case conn.FirstWord(err) == notALock:
		return fmt.Errorf("%w:%s", ErrNotALock, strings.TrimPrefix(err.Error(), notALock))
	}
	return err
}
