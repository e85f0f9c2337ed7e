// Package token makes lock values.
package token

import (
	"crypto/rand"
	"encoding/base64"
	"strings"
	"unicode"
	"unicode/utf8"

	"muxlock/internal/limits"
)

const (
	randomLength = 24 // 16 bytes in base64
	separator    = '@'
	reader       = "~"
)

// New returns 128 bits from crypto/rand in 24 printable characters. It reads the source at every call and buffers no random
// bytes, so a snapshot or clone of the machine cannot repeat them.
func New() string {
	text := random()
	return string(text[:])
}

// For returns a fresh token for a lock: New, @, and the holder, for example "...==@web-7/4211". The holder may be empty; it
// must be Printable and have at most limits.HolderBytes bytes.
func For(holder string) string { return fresh(holder, "") }

func fresh(holder, first string) string {
	var text [len(reader) + randomLength + 1 + limits.HolderBytes]byte
	random := random()
	n := copy(text[:], first)
	n += copy(text[n:], random[:])
	text[n] = separator
	n += 1 + copy(text[n+1:], holder)
	return string(text[:n])
}

// ForReader returns a fresh token for a lock that others may read, too: ~ and a token of For. The scripts tell it from a
// writer's by its first byte.
func ForReader(holder string) string { return fresh(holder, reader) }

func random() (text [randomLength]byte) {
	var raw [16]byte
	rand.Read(raw[:]) // never fails: the process ends if the source does
	base64.StdEncoding.Encode(text[:], raw[:])
	return text
}

// IsReader reports whether a value is one of ForReader, as the scripts do.
func IsReader(value string) bool {
	return strings.HasPrefix(value, reader) && len(value) > len(reader)+randomLength && value[len(reader)+randomLength] == separator
}

// Ours reports whether a lock's value has the form of For or ForReader. It is wrong about another client's value of the same
// form, and about tokens without a holder: versions before November 2026 wrote them. No safety rule relies on Ours.
func Ours(value string) bool {
	_, ours := parse(value)
	return ours
}

// Holder returns the holder in a lock's value, or "" if the value does not have one of these forms: values of other clients
// may be anything.
func Holder(value string) string {
	holder, _ := parse(value)
	return holder
}

func parse(value string) (holder string, ours bool) {
	value = strings.TrimPrefix(value, reader)
	if len(value) <= randomLength || value[randomLength] != separator {
		return "", false
	}
	random, err := base64.StdEncoding.Strict().DecodeString(value[:randomLength])
	holder = value[randomLength+1:]
	if err != nil || len(random) != 16 || len(holder) > limits.HolderBytes || !Printable(holder) {
		return "", false
	}
	return holder, true
}

// Printable reports whether text is UTF-8 that a terminal simply prints.
func Printable(text string) bool {
	return utf8.ValidString(text) && !strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) })
}
