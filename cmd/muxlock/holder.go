package main

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// holder returns what others see of this holder: machine, process and command. Its arguments may be secret.
func holder(command string) string {
	host, err := os.Hostname()
	if err != nil {
		host = "?"
	}
	return fitted(printable(host), 32) + ":" + strconv.Itoa(os.Getpid()) + " " + fitted(printable(filepath.Base(command)), 20)
}

// fitted shortens a text to at most most bytes.
func fitted(text string, most int) string {
	return strings.ToValidUTF8(text[:min(len(text), most)], "") // drops a character that was cut in two
}

// printable replaces each character that a terminal would not simply print by a question mark.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if r == utf8.RuneError || !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, text)
}
