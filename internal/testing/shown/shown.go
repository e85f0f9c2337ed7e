// Package shown prints values in every common way, for tests that secrets stay hidden.
package shown

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"log"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"
)

// Texts returns v as every common way of printing shows it.
func Texts(v any) (texts []string) {
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%[1]T %[1]v"} {
		texts = append(texts, fmt.Sprintf(verb, v))
	}
	texts = append(texts, fmt.Sprint(v), fmt.Sprintln(v))
	for _, marshal := range []func(any) ([]byte, error){json.Marshal, xml.Marshal} {
		text, _ := marshal(v)
		texts = append(texts, string(text))
	}
	var out bytes.Buffer
	log.New(&out, "", 0).Print(v)
	for _, handler := range []slog.Handler{slog.NewTextHandler(&out, nil), slog.NewJSONHandler(&out, nil)} {
		slog.New(handler).Info("message", "key", v, slog.Group("g", "k", v), "list", []any{v})
	}
	return append(texts, out.String())
}

// RequireHidden asserts that no value shows a secret, in bytes or in hexadecimal digits.
func RequireHidden(t testing.TB, secret string, values ...any) {
	t.Helper()
	for _, v := range values {
		for _, text := range Texts(v) {
			require.NotContains(t, text, secret, "%T", v)
			require.NotContains(t, text, fmt.Sprintf("%x", secret), "%T", v)
			require.NotContains(t, text, fmt.Sprintf("%X", secret), "%T", v)
		}
	}
}

// Timeless is a logger whose lines are the same every time.
func Timeless(out *bytes.Buffer) *slog.Logger {
	return slog.New(slog.NewTextHandler(out, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}}))
}
