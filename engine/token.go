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
type Token struct{ value *string }

const redacted = "[token]"

// Reveal returns the value, for handing the lock to another process or library.
func (t Token) Reveal() string {
	if t.value == nil {
		return ""
	}
	return *t.value
}

// String returns the placeholder.
func (t Token) String() string { return redacted }

// Format prints the placeholder for every verb.
func (t Token) Format(s fmt.State, _ rune) { _, _ = io.WriteString(s, redacted) }

// LogValue is the placeholder for log/slog.
func (t Token) LogValue() slog.Value { return slog.StringValue(redacted) }

// MarshalText is the placeholder for encoding/json and others.
func (t Token) MarshalText() ([]byte, error) { return []byte(redacted), nil }
