package redisfake

import (
	"fmt"
	"io"
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

// ReadCommand reads one command, an array of bulk strings. It blocks until the command is complete. An end before that is
// io.EOF or io.ErrUnexpectedEOF.
func ReadCommand(in interface {
	io.Reader
	ReadString(delim byte) (string, error)
}) ([]string, error) {
	length := func(sign string) (int, error) {
		line, err := in.ReadString('\n')
		if err != nil {
			return 0, err
		}
		n, err := strconv.Atoi(strings.TrimRight(strings.TrimPrefix(line, sign), "\r\n"))
		if err != nil || n < 0 || !strings.HasPrefix(line, sign) {
			return 0, fmt.Errorf("want %s and a length, got %q", sign, line)
		}
		return n, nil
	}
	n, err := length("*")
	if err != nil {
		return nil, err
	}
	words := make([]string, n)
	for i := range words {
		size, err := length("$")
		if err != nil {
			return nil, err
		}
		word := make([]byte, size+len("\r\n"))
		if _, err := io.ReadFull(in, word); err != nil {
			return nil, err
		}
		words[i] = string(word[:size])
	}
	return words, nil
}
