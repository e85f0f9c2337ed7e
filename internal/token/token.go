// Package token makes lock values.
package token

import (
	"crypto/rand"
	"encoding/base64"
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

// New returns a fresh token: 128 bits from crypto/rand in 24 printable
// characters. It reads the source anew each time and keeps no block of random
// bytes, so that a snapshot or clone of the machine cannot repeat a token.
func New() string { return For("") }

// For returns a fresh token that ends with its holder, unless that is empty: "...==@web-7/4211".
// The holder must be Printable and have at most MaxHolder bytes.
func For(holder string) string {
	var raw [16]byte
	rand.Read(raw[:]) // never fails: the process ends if the source does
	var text [randomLength + 1 + MaxHolder]byte
	base64.StdEncoding.Encode(text[:], raw[:])
	n := randomLength
	if holder != "" {
		text[n] = separator
		n += 1 + copy(text[n+1:], holder)
	}
	return string(text[:n])
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
