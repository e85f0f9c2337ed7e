package main

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// holder is who others see: the machine, this process, and the command without its
// arguments, which may be secret.
func holder(command string) string {
	host, err := os.Hostname()
	if err != nil {
		host = "?"
	}
	return fitted(printable(host), 32) + ":" + strconv.Itoa(os.Getpid()) + " " + fitted(printable(filepath.Base(command)), 20)
}

// fitted shortens a text to some bytes.
func fitted(text string, most int) string {
	return strings.ToValidUTF8(text[:min(len(text), most)], "") // it may end within a letter
}

// printable has a ? for what would do more to a terminal than print.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if r == utf8.RuneError || !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, text)
}
