// Package token makes lock values.
package token

import (
	"crypto/rand"
	"encoding/base64"
	"hash/crc32"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	// MaxHolder is how many bytes a holder may have.
	MaxHolder = 64

	randomLength = 24 // 16 bytes in base64
	separator    = '@'
)

// New returns a fresh token: 112 bits from crypto/rand and 16 that follow from them (Ours), in 24
// printable characters. It reads the source anew each time and keeps no block of random
// bytes, so that a snapshot or clone of the machine cannot repeat a token.
func New() string { return For("") }

// For returns a fresh token that ends with its holder, unless that is empty: "...==@web-7/4211".
// The holder must be Printable and have at most MaxHolder bytes.
func For(holder string) string {
	var raw [16]byte
	rand.Read(raw[:14]) // never fails: the process ends if the source does
	copy(raw[14:], mark(raw[:14]))
	var text [randomLength + 1 + MaxHolder]byte
	base64.StdEncoding.Encode(text[:], raw[:])
	n := randomLength
	if holder != "" {
		text[n] = separator
		n += 1 + copy(text[n+1:], holder)
	}
	return string(text[:n])
}

// Ours reports whether a lock's value is a token of this package, of any process. One in 65,536
// values of other clients passes for one, and so do no tokens of versions before this rule.
func Ours(value string) bool {
	if len(value) < randomLength {
		return false
	}
	raw, err := base64.StdEncoding.Strict().DecodeString(value[:randomLength])
	return err == nil && len(raw) == 16 && string(raw[14:]) == string(mark(raw[:14]))
}

// mark is what the last bytes of a token are, by the others.
func mark(random []byte) []byte {
	sum := crc32.ChecksumIEEE(random)
	return []byte{byte(sum), byte(sum >> 8)}
}

// Holder returns the holder that a lock's value ends with, or "". It takes no other form than
// that of For, since the values of other clients may be anything.
func Holder(value string) string {
	if len(value) <= randomLength+1 || value[randomLength] != separator {
		return ""
	}
	random, err := base64.StdEncoding.Strict().DecodeString(value[:randomLength])
	holder := value[randomLength+1:]
	if err != nil || len(random) != 16 || len(holder) > MaxHolder || !Printable(holder) {
		return ""
	}
	return holder
}

// Printable reports whether text is UTF-8 that does nothing to a terminal but print.
func Printable(text string) bool {
	return utf8.ValidString(text) && !strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) })
}
