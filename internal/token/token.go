// Package token makes lock values.
package token

import (
	"crypto/rand"
	"encoding/base64"
)

// New returns a fresh token: 128 bits from crypto/rand in 24 printable
// characters. It reads the source anew each time and keeps no block of random
// bytes, so that a snapshot or clone of the machine cannot repeat a token.
func New() string {
	var raw [16]byte
	rand.Read(raw[:]) // never fails: the process ends if the source does
	var text [24]byte
	base64.StdEncoding.Encode(text[:], raw[:])
	return string(text[:])
}
