package conn

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"muxlock/internal/resp"
	"muxlock/scripts"
)

const (
	// MaxValue is the longest string, in bytes, that may be a lock's value.
	MaxValue = 512
	// NoExpiry is the time to live of a key that does not expire.
	NoExpiry = time.Duration(math.MaxInt64)
)

// ErrNotALock is matched if a key holds what no lock has as its value: another type, an empty
// string, or a string longer than MaxValue.
var ErrNotALock = errors.New("muxlock: key holds no lock")

// notALock is the class of the script's error about a string that no lock has.
const notALock = "MUXLOCKVALUE"

// Inspect adds the commands that read what is under a name.
func (b *Batch) Inspect(name string) {
	b.Command("SCRIPT", "LOAD", scripts.Inspect.Source)
	b.Begin(5)
	b.Add("EVALSHA", scripts.Inspect.SHA1, "1", name, strconv.Itoa(MaxValue))
}

// InspectedValue reads the replies to Inspect. Without an error, an empty token says that the name
// is free.
func InspectedValue(replies []resp.Reply) (token string, left time.Duration, err error) {
	if err := replies[0].Err(); err != nil {
		return "", 0, err
	}
	reply := replies[1]
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
		return "", 0, fmt.Errorf("%w to the inspection", ErrUnexpected)
	case n < 0:
		return token, NoExpiry, nil
	}
	return token, time.Duration(n) * time.Millisecond, nil
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
