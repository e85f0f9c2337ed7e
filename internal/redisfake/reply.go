package redisfake

import (
	"bufio"
	"bytes"
	"fmt"
	"strconv"
	"strings"

	"muxlock/internal/resp"
)

// A reply to a command is nil, a string, strings, an int, an int64, an error, or one of these.
type (
	status string // a simple string
	table  []any  // a map: keys and values in turn
	push   []any  // an out-of-band message: its kind and its content
)

// appendReply appends a reply in RESP3.
func appendReply(b []byte, reply any) []byte {
	switch r := reply.(type) {
	case nil:
		return append(b, "_\r\n"...)
	case string:
		return resp.AppendBulk(b, r)
	case status:
		return fmt.Appendf(b, "+%s\r\n", string(r))
	case int, int64:
		return fmt.Appendf(b, ":%d\r\n", r)
	case error:
		return fmt.Appendf(b, "-%v\r\n", r)
	case table:
		return appendAll(resp.AppendHeader(b, '%', len(r)/2), r)
	case push:
		return appendAll(resp.AppendHeader(b, '>', len(r)), r)
	case []string:
		return resp.AppendCommand(b, r...)
	}
	panic(fmt.Sprintf("redisfake: %T is no reply", reply))
}

func appendAll(b []byte, parts []any) []byte {
	for _, part := range parts {
		b = appendReply(b, part)
	}
	return b
}

// ReadCommand reads one command, an array of bulk strings. It blocks until the command is complete.
func ReadCommand(in *bufio.Reader) ([]string, error) {
	for sofar := []byte(nil); ; {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return nil, err
		}
		sofar = append(sofar, line...)
		if words, size, err := parseCommand(sofar); size > 0 || err != nil {
			return words, err
		}
	}
}

// parseCommand returns the words and the size of the command at the begin of b; size 0: the command is not complete.
func parseCommand(b []byte) (words []string, size int, err error) {
	n, at, err := parseLength(b, 0, '*')
	if at == 0 || err != nil {
		return nil, 0, err
	}
	words = make([]string, n)
	for i := range words {
		length, text, err := parseLength(b, at, '$')
		if at = text + length + len("\r\n"); text == 0 || at > len(b) || err != nil {
			return nil, 0, err
		}
		words[i] = string(b[text : text+length])
	}
	return words, at, nil
}

// parseLength returns the number in the line from from on, and where the next line begins; 0: the line is not complete.
func parseLength(b []byte, from int, sign byte) (n, next int, err error) {
	end := bytes.IndexByte(b[from:], '\n')
	if end < 0 {
		return 0, 0, nil
	}
	line := string(b[from : from+end])
	if line == "" || line[0] != sign {
		return 0, 0, fmt.Errorf("want %q, got %q", sign, line)
	}
	if n, err = strconv.Atoi(strings.TrimSpace(line[1:])); err != nil || n < 0 {
		return 0, 0, fmt.Errorf("%q is no length", line)
	}
	return n, from + end + 1, nil
}
