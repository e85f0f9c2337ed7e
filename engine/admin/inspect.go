package admin

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"time"

	"muxlock/engine"
	"muxlock/engine/internal/inside"
	"muxlock/internal/limits"
	"muxlock/internal/line"
	"muxlock/internal/oneline"
	"muxlock/internal/quorum"
	"muxlock/internal/token"
	"muxlock/pipeline"
)

// NoExpiry is the time left of a key that does not expire. No client that follows the rules has set such a
// key.
const NoExpiry = pipeline.NoExpiry

// An Inspection is what the masters had under a name when Inspect asked them. It may be printed: it shows no token.
// ForceRelease finds the tokens by it.
type Inspection struct {
	Name    string
	Held    bool          // a majority of all masters has the same value, or a reader
	Readers int           // that a majority has; 0: nobody reads. Readers of one process count once
	Holder  string        // what Config.Holder of that holder, or of one of the readers, is; empty: it gave none, or has another library
	Left    time.Duration // how long a majority will still have it, at most; NoExpiry: for ever
	Waiting int           // processes in line for it, at the master with the longest line
	Next    string        // what Config.Holder of the first of them is, at most masters; empty: nobody waits, or it gave none
	Masters []MasterHolds // in the order of Config.Masters

	found *found // nil: not from Inspect
}

// MasterHolds is what one master had under the name.
type MasterHolds struct {
	Address string
	Value   string        // the same for the same token: a hash of it, 8 hex digits; empty: the name is free there
	Readers []Reader      // all that are there; then Value and Holder are of one of them
	Holder  string        // as of Inspection
	Left    time.Duration // as of Inspection, at this master
	Err     error         // why it could not be asked or did not answer, or ErrNotALock, or engine.ErrDenied
}

// A Reader is a reader of a name at a master, with its Value and Holder as of MasterHolds.
type Reader struct{ Value, Holder string }

// found keeps tokens behind two pointers: package fmt follows one for a verb that does not fit.
type found struct {
	slot   int // as of InspectPermit
	tokens *[]string
}

// Inspect asks all masters who holds a name, for people and tools. Its answer may be out of date on arrival,
// so it does not replace an acquire. It changes nothing.
//
// Inspect takes one round trip over the connections of the engine. It blocks until all masters have answered,
// ctx ends or Config.MasterTimeout has passed, and goes on without the missing ones. A master that is set
// aside is not asked, and has the cause as its Err. When votes are split, no majority holds the name or has
// it free: Masters shows that.
//
// Errors with what was found, and with the MasterErrors: engine.ErrNoQuorum when fewer than a majority
// answered; ErrNotALock or engine.ErrDenied when too many of the answers were such errors. Errors alone:
// engine.ErrInvalid; engine.ErrClosed; ctx's error when it has ended before.
func Inspect(ctx context.Context, e *engine.Engine, name string) (Inspection, error) {
	return InspectPermit(ctx, e, name, -1)
}

// InspectPermit is Inspect for the permit of name with that Lock.Slot, 0 to 63; -1 is the lock of name. ForceRelease of
// the Inspection releases the permit. To see all permits, call InspectPermit for each slot, side by side.
func InspectPermit(ctx context.Context, e *engine.Engine, name string, slot int) (Inspection, error) {
	if slot < -1 || slot >= limits.Permits {
		return Inspection{}, fmt.Errorf("%w: slot %d is not between -1 and 63", engine.ErrInvalid, slot)
	}
	in := inside.Of(e)
	key, err := keyOf(ctx, in, name, slot)
	if err != nil {
		return Inspection{}, err
	}
	values, err := in.At(key).Inspect(ctx, key)
	if err != nil {
		return Inspection{}, err
	}
	return inspected(name, slot, values)
}

// keyOf returns the key of a name, or of a slot of it, as long as ctx has not ended.
func keyOf(ctx context.Context, in inside.Engine, name string, slot int) (string, error) {
	key, err := in.Key(name)
	return inside.SlotKey(slot, key), cmp.Or(err, ctx.Err())
}

// SlotOf is for tools that list the masters' keys. It returns the slot of a permit's key, and the key that the lock of
// the same name has; for other keys -1 and the key.
func SlotOf(key string) (slot int, of string) { return inside.SlotOf(key) }

// inspected returns the conclusion from the values at the masters.
func inspected(name string, slot int, values []pipeline.Value) (Inspection, error) {
	i := Inspection{Name: name}
	var tokens []string                      // each once
	left := make(map[string][]time.Duration) // by token
	var causes []error
	refused := 0
	firsts := make([]string, len(values))
	for n, v := range values {
		i.Waiting, firsts[n] = max(i.Waiting, v.Waiting), v.Next
		m := MasterHolds{Address: v.Address, Left: v.Left, Err: v.Err}
		switch {
		case v.Err != nil:
			causes = append(causes, engine.MasterError{Master: v.Address, Err: v.Err})
			if errors.Is(v.Err, ErrNotALock) || errors.Is(v.Err, engine.ErrDenied) {
				refused++
			}
		case v.Token != "":
			v.Readers = []string{v.Token}
		}
		for _, t := range v.Readers {
			if m.Value, m.Holder = hashOf(t), token.Holder(t); token.IsReader(t) {
				m.Readers = append(m.Readers, Reader{m.Value, m.Holder})
			}
			if left[t] == nil {
				tokens = append(tokens, t)
			}
			left[t] = append(left[t], v.Left)
		}
		i.Masters = append(i.Masters, m)
	}
	majority := quorum.Size(len(values))
	for _, t := range tokens {
		if left := left[t]; len(left) >= majority {
			slices.Sort(left)
			i.Held, i.Holder, i.Left = true, token.Holder(t), max(i.Left, left[len(left)-majority])
			if token.IsReader(t) {
				i.Readers++
			}
		}
	}
	next, _ := line.Next(firsts, nil)
	i.Next = token.Holder(next)
	i.found = &found{slot, &tokens}
	switch answered := len(values) - len(causes); {
	case answered >= majority:
		return i, nil
	case answered+refused >= majority:
		return i, oneline.Join(causes...)
	default:
		return i, fmt.Errorf("%w: %d of %d answered: %w", engine.ErrNoQuorum, answered, len(values), oneline.Join(causes...))
	}
}

// hashOf lets people compare tokens and not use them.
func hashOf(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:4])
}

// ForceRelease deletes, on all masters, the values that Inspect found, where they still are. It never deletes
// what somebody else has acquired at the masters since. A lock that was handed over within its process since
// then has the same value, so the next holder there loses it. ForceRelease does not ask the holder. Its next
// renewal or Extend finds out (ErrLost). Until then it goes on working, beside the next holder; only a fence
// keeps that harmless. Those who wait for the name are woken.
//
// Once all have answered, it returns how many masters deleted a value; of several readers, how many deleted
// the one that most had. It blocks for at most about twice Config.MasterTimeout, or until ctx ends. That ends
// the wait and not what was sent. A ctx that has ended already sends nothing. A master that is set
// aside is sent the deletion when it is back, for Config.MaxTTL. After ErrNoQuorum a lock that is kept alive may
// regain the masters (package engine, Life of a lock): look again.
//
// Errors, of package engine: ErrNotHeld when no master has such a value any more, or none was found;
// ErrNoQuorum when too few answered; ErrDenied; ErrInvalid if i is not from Inspect; ErrClosed; ctx's error.
func ForceRelease(ctx context.Context, e *engine.Engine, i Inspection) (int, error) {
	if i.found == nil {
		return 0, fmt.Errorf("%w: i is not from Inspect", engine.ErrInvalid)
	}
	in := inside.Of(e)
	key, err := keyOf(ctx, in, i.Name, i.found.slot)
	if err != nil {
		return 0, err
	}
	var sent []*deletion
	for _, t := range *i.found.tokens {
		d := &deletion{shared: token.IsReader(t), counted: make(chan int, 1)}
		req := pipeline.Request{Op: pipeline.Release, Name: key, Token: t, TTL: in.MaxTTL, Origin: pipeline.OriginForeign, Shared: d.shared}
		if err := in.At(key).Start(req, d); err != nil {
			return 0, err
		}
		sent = append(sent, d)
	}
	deleted, readers := 0, 0 // a master may have many readers, but no other value beside one
	for _, d := range sent {
		select {
		case n := <-d.counted:
			if d.shared {
				n, readers = max(n-readers, 0), max(n, readers)
			}
			deleted += n
			if refusal := in.Refusal(d.out); !errors.Is(refusal, engine.ErrNotHeld) { // of a value that a minority had
				err = oneline.Join(err, refusal)
			}
		case <-ctx.Done():
			return deleted, oneline.Join(err, ctx.Err())
		}
	}
	if deleted == 0 && err == nil {
		err = engine.ErrNotHeld
	}
	return deleted, err
}

// A deletion is the receiver of one forced release.
type deletion struct {
	shared  bool             // of a reader
	out     pipeline.Outcome // written before counted
	counted chan int         // capacity 1
}

func (d *deletion) Decided(out pipeline.Outcome) { d.out = out }
func (d *deletion) Counted(granted, _ uint64)    { d.counted <- bits.OnesCount64(granted) }
func (d *deletion) Over() bool                   { return false }
