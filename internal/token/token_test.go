package token

import (
	"encoding/base64"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"muxlock/internal/limits"
)

func TestTokenIsSixteenFreshBytesInBase64(t *testing.T) {
	seen := make(map[string]bool)
	var ones, zeros [16]byte // bits that were 1 or 0 in some token
	for range 1000 {
		text := New()
		random, err := base64.StdEncoding.Strict().DecodeString(text)
		require.NoError(t, err)
		require.Len(t, random, 16)
		require.False(t, seen[text])
		seen[text] = true
		require.Empty(t, Holder(text))
		for i, b := range random {
			ones[i] |= b
			zeros[i] |= ^b
		}
	}
	require.Equal(t, strings.Repeat("\xff", 32), string(ones[:])+string(zeros[:]), "all 128 bits are random")
}

func TestTokensAreToldFromTheValuesOfOthers(t *testing.T) {
	require.True(t, Ours(For("")))
	require.True(t, Ours(For("web-7/4211")))
	for _, value := range []string{"", "x", "@", New(), New()[:23] + "@", strings.Repeat("x", 24) + "@", For("\x1b")} { // New: as Redsync's
		require.False(t, Ours(value), "%q", value)
	}
}

func TestTokenEndsWithItsHolder(t *testing.T) {
	for _, holder := range []string{"", "x", "web-7/4211", "a@b@c", "@", "=@=", "two words", "日本", strings.Repeat("x", limits.HolderBytes)} {
		text := For(holder)
		require.Equal(t, holder, Holder(text))
		_, err := base64.StdEncoding.Strict().DecodeString(text[:24])
		require.NoError(t, err)
		require.Equal(t, "@"+holder, text[24:])
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
		random + "@" + strings.Repeat("x", limits.HolderBytes+1),
	} {
		require.Empty(t, Holder(value), "%q", value)
	}
}

func TestAHolderCostsNoAllocation(t *testing.T) {
	var sink string
	without := testing.AllocsPerRun(100, func() { sink = For("") })
	require.Equal(t, without, testing.AllocsPerRun(100, func() { sink = For("web-7/4211") }))
	require.NotEmpty(t, sink)
}
