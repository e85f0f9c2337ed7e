package redisfake

import (
	"bufio"
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

// ReadCommand reads one command, an array of bulk strings. It blocks until the command is complete.
func ReadCommand(in *bufio.Reader) ([]string, error) {
	n, err := readLength(in, '*')
	if err != nil {
		return nil, err
	}
	words := make([]string, n)
	for i := range words {
		size, err := readLength(in, '$')
		if err != nil {
			return nil, err
		}
		text := make([]byte, size+2)
		if _, err := io.ReadFull(in, text); err != nil {
			return nil, err
		}
		words[i] = string(text[:size])
	}
	return words, nil
}

func readLength(in *bufio.Reader, sign byte) (int, error) {
	line, err := in.ReadString('\n')
	if err != nil {
		return 0, err
	}
	if line[0] != sign {
		return 0, fmt.Errorf("want %q, got %q", sign, line)
	}
	return strconv.Atoi(strings.TrimSpace(line[1:]))
}
