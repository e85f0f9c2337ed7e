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

// New returns 128 bits from crypto/rand in 24 printable characters. It reads the source anew each
// time and keeps no block of random bytes, so that a snapshot or clone of the machine cannot repeat
// them.
func New() string {
	text := random()
	return string(text[:])
}

// For returns a fresh token of a lock: New, and an @ with the holder, which may be empty:
// "...==@web-7/4211". The holder must be Printable and have at most MaxHolder bytes.
func For(holder string) string {
	var text [randomLength + 1 + MaxHolder]byte
	first := random()
	copy(text[:], first[:])
	text[randomLength] = separator
	n := randomLength + 1 + copy(text[randomLength+1:], holder)
	return string(text[:n])
}

func random() (text [randomLength]byte) {
	var raw [16]byte
	rand.Read(raw[:]) // never fails: the process ends if the source does
	base64.StdEncoding.Encode(text[:], raw[:])
	return text
}

// Ours reports whether a lock's value has the form of For. Those of other clients that have it by
// chance, and tokens without a holder of versions before November 2026, which do not, are taken
// for the wrong one: no rule of safety rests on it.
func Ours(value string) bool {
	_, ours := parse(value)
	return ours
}

// Holder returns the holder that a lock's value ends with, or "". It takes no other form than
// that of For, since the values of other clients may be anything.
func Holder(value string) string {
	holder, _ := parse(value)
	return holder
}

func parse(value string) (holder string, ours bool) {
	if len(value) <= randomLength || value[randomLength] != separator {
		return "", false
	}
	random, err := base64.StdEncoding.Strict().DecodeString(value[:randomLength])
	holder = value[randomLength+1:]
	if err != nil || len(random) != 16 || len(holder) > MaxHolder || !Printable(holder) {
		return "", false
	}
	return holder, true
}

// Printable reports whether text is UTF-8 that does nothing to a terminal but print.
func Printable(text string) bool {
	return utf8.ValidString(text) && !strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) })
}
