package conn

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"muxlock/internal/limits"
	"muxlock/internal/resp"
	"muxlock/internal/token"
	"muxlock/scripts"
)

// NoExpiry is the time to live of a key that does not expire.
const NoExpiry = time.Duration(math.MaxInt64)

// ErrNotALock is matched if a key's value cannot be a lock's: another type, an empty string, a
// string longer than limits.ValueBytes, or a sorted set with members that are no readers.
var ErrNotALock = errors.New("muxlock: key holds no lock")

// notALock is the class of the script's error about a string that cannot be a lock's.
const notALock = "MUXLOCKVALUE"

// Inspect adds the commands that read the value of a name, and its lines.
func (b *Batch) Inspect(name string, lines bool) {
	b.Command("SCRIPT", "LOAD", scripts.Inspect.Source)
	if lines {
		b.Command("EVALSHA", scripts.Inspect.SHA1, "3", name, lineKey+name, fencedLineKey+name, strconv.Itoa(limits.ValueBytes))
	} else {
		b.Command("EVALSHA", scripts.Inspect.SHA1, "1", name, strconv.Itoa(limits.ValueBytes))
	}
}

// A Value is what one master has under a name. The tokens in it must not be printed.
type Value struct {
	Address string
	Token   string        // "": the name is free, or readers hold it
	Readers []string      // their tokens, the one with the longest lease last; nil: there are none
	Left    time.Duration // to live, as of the master's answer; or NoExpiry
	Waiting int           // tokens that stand in line
	Next    string        // the first of them
	Err     error         // why there is no answer, or ErrNotALock, or ErrDenied
}

// Inspected reads the replies to Inspect.
func Inspected(replies []resp.Reply) (v Value) {
	reply := replies[1]
	if v.Err = replies[0].Err(); v.Err != nil {
		return v
	}
	if err := reply.Err(); err != nil {
		return Value{Err: whyNoValue(err)}
	}
	words := strings.SplitN(reply.Text, "\n", 5)
	if len(words) < 5 {
		return Value{Err: fmt.Errorf("%w to the inspection", ErrUnexpected)}
	}
	waiting, badWaiting := strconv.Atoi(words[0])
	ms, badLeft := strconv.ParseInt(words[2], 10, 42)
	readers, badReaders := strconv.Atoi(words[3])
	v = Value{Token: words[4], Left: max(0, time.Duration(ms)) * time.Millisecond, Waiting: waiting, Next: words[1]}
	if ms == -1 {
		v.Left = NoExpiry
	}
	if badWaiting != nil || badLeft != nil || badReaders != nil || (ms == -2) != (v.Token == "" && readers == 0) {
		return Value{Err: fmt.Errorf("%w to the inspection", ErrUnexpected)}
	}
	if readers > 0 {
		v.Token, v.Readers = "", strings.Split(v.Token, "\n")
	}
	if slices.ContainsFunc(v.Readers, func(t string) bool { return !token.IsReader(t) }) {
		return Value{Err: fmt.Errorf("%w: a sorted set of others than readers", ErrNotALock)}
	}
	return v
}

// whyNoValue gives the script's error its type.
func whyNoValue(err error) error {
	switch {
	case IsDenied(err):
		return As(ErrDenied, err)
	case IsOtherType(err):
		return fmt.Errorf("%w: %w", ErrNotALock, err)
	case FirstWord(err) == notALock:
		return fmt.Errorf("%w:%s", ErrNotALock, strings.TrimPrefix(err.Error(), notALock))
	}
	return err
}
