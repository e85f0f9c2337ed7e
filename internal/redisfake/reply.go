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
		return append(append(append(b, '+'), r...), "\r\n"...)
	case int:
		return resp.AppendHeader(b, ':', r)
	case int64:
		return resp.AppendHeader(b, ':', int(r))
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

// CutCommand cuts one command, an array of bulk strings, off the begin of in. If there is more to come, the error is
// io.ErrUnexpectedEOF.
func CutCommand(in string) (words []string, rest string, err error) {
	n, rest, err := cutLength(in, '*')
	if err != nil {
		return nil, in, err
	}
	words = make([]string, 0, min(n, len(rest)))
	for range n {
		size, bulk, err := cutLength(rest, '$')
		if err == nil && len(bulk)-len("\r\n") < size {
			err = io.ErrUnexpectedEOF
		}
		if err != nil {
			return nil, in, err
		}
		words, rest = append(words, bulk[:size]), bulk[size+len("\r\n"):]
	}
	return words, rest, nil
}

// cutLength cuts a line off that has a sign and a length.
func cutLength(in string, sign byte) (n int, rest string, err error) {
	line, rest, whole := strings.Cut(in, "\r\n")
	switch {
	case !whole && (in == "" || in[0] == sign && len(in) < 32):
		return 0, in, io.ErrUnexpectedEOF
	case whole && line != "" && line[0] == sign:
		if n, err := strconv.Atoi(line[1:]); err == nil && n >= 0 {
			return n, rest, nil
		}
	}
	return 0, in, fmt.Errorf("want %c and a length, got %.32q", sign, in)
}
