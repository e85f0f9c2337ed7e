package engine

import (
	"fmt"
	"io"
	"log/slog"
)

// Token is the value of a lock's key: whoever has it can extend and release the
// lock. It prints as a placeholder in every format; Reveal gives the value.
type Token struct{ value string }

const redacted = "[token]"

// Reveal returns the value, for handing the lock to another process or library.
func (t Token) Reveal() string { return t.value }

func (t Token) String() string               { return redacted }
func (t Token) GoString() string             { return redacted }
func (t Token) Format(s fmt.State, _ rune)   { io.WriteString(s, redacted) }
func (t Token) LogValue() slog.Value         { return slog.StringValue(redacted) }
func (t Token) MarshalText() ([]byte, error) { return []byte(redacted), nil }
