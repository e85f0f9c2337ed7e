package engine

import (
	"fmt"
	"io"
	"log/slog"
)

// Token is the value of a lock's key: whoever has it can extend and release the
// lock. It prints as a placeholder in every format; Reveal gives the value.
//
// The value sits behind a pointer, because package fmt calls no method of a field
// that it cannot see and would print a string there in clear.
type Token struct{ lock *Lock }

const redacted = "[token]"

// Reveal returns the value, for work that another process or library finishes: who has it
// can extend or release the lock at the masters as Redlock clients do (Engine.Adopt; in
// Redsync: a Mutex WithValue), for instance a worker that ends a job which this process began. It is also
// what redis-cli GET shows, for a comparison by hand.
//
// The value may be used at any later time, so a lock whose token was revealed is deleted at
// the masters when it is released, and not handed over to the next in this process. Once a
// lock was handed over its token is the next holder's: Reveal returns "" then.
func (t Token) Reveal() string {
	if t.lock == nil {
		return ""
	}
	l := t.lock.lease
	t.lock.lock()
	defer t.lock.unlock()
	if t.lock.end != nil && !l.ended {
		return ""
	}
	l.revealed = true
	return l.token
}

// String returns the placeholder.
func (t Token) String() string { return redacted }

// Format prints the placeholder for every verb.
func (t Token) Format(s fmt.State, _ rune) { _, _ = io.WriteString(s, redacted) }

// LogValue is the placeholder for log/slog.
func (t Token) LogValue() slog.Value { return slog.StringValue(redacted) }

// MarshalText is the placeholder for encoding/json and others.
func (t Token) MarshalText() ([]byte, error) { return []byte(redacted), nil }
