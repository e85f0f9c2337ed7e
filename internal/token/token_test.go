package token

import (
	"crypto/rand"
	"encoding/base64"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTokenIsSixteenFreshBytesInBase64(t *testing.T) {
	seen := make(map[string]bool)
	for range 1000 {
		text := New()
		random, err := base64.StdEncoding.Strict().DecodeString(text)
		require.NoError(t, err)
		require.Len(t, random, 16)
		require.False(t, seen[text])
		seen[text] = true
		require.Empty(t, Holder(text))
	}
}

func TestTokensAreToldFromTheValuesOfOthers(t *testing.T) {
	passed := 0
	for range 10_000 {
		require.True(t, Ours(New()))
		require.True(t, Ours(For("web-7/4211")))
		var others [16]byte // as Redsync's
		_, _ = rand.Read(others[:])
		if Ours(base64.StdEncoding.EncodeToString(others[:])) {
			passed++
		}
	}
	require.LessOrEqual(t, passed, 5)
	for _, value := range []string{"", "x", strings.Repeat("=", 24), strings.Repeat("x", 24), New()[:23]} {
		require.False(t, Ours(value), value)
	}
}

func TestTokenEndsWithItsHolder(t *testing.T) {
	for _, holder := range []string{"", "x", "web-7/4211", "a@b@c", "@", "=@=", "two words", "日本", strings.Repeat("x", MaxHolder)} {
		text := For(holder)
		require.Equal(t, holder, Holder(text))
		_, err := base64.StdEncoding.Strict().DecodeString(text[:24])
		require.NoError(t, err)
		if holder != "" {
			require.Equal(t, "@"+holder, text[24:])
		}
		require.NotEqual(t, text, For(holder))
	}
}

func TestValuesOfOtherFormsHaveNoHolder(t *testing.T) {
	random := New()
	require.Equal(t, "h", Holder(random+"@h"), "the form that the others miss")
	for _, value := range []string{
		"", "@", "@h", "user@host", random, random + "@", random + "h", random + ":h", random[:23] + "@h", "x" + random + "@h",
		strings.Repeat("x", 24) + "@h",               // 18 bytes
		random[:21] + "\n==@h", "\n" + random + "@h", // what decoders leave out
		random[:21] + "B==@h", // bits that no encoder sets
		random + "@\x1b[31m", random + "@a\nb", random + "@\xff", random + "@" + "\u202e",
		random + "@" + strings.Repeat("x", MaxHolder+1),
	} {
		require.Empty(t, Holder(value), "%q", value)
	}
}

func TestAHolderCostsNoAllocation(t *testing.T) {
	var sink string
	without := testing.AllocsPerRun(100, func() { sink = New() })
	require.Equal(t, without, testing.AllocsPerRun(100, func() { sink = For("web-7/4211") }))
	require.NotEmpty(t, sink)
}
