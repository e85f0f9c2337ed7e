// Package resp is the wire format of a Redis server: commands, and replies of RESP2 and RESP3 with one value or a flat
// list. It is for connections without a client library.
package resp

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// Kind is the kind of a reply, in either protocol version.
type Kind uint8

const (
	Null   Kind = iota // no value; Number is 3 if only RESP3 writes it so
	Text               // a simple, bulk or verbatim string
	Number             // an integer
	Failed             // an error; Text is its text, as of ErrorOf
)

// Reply is one reply.
type Reply struct {
	Kind   Kind
	Text   string
	Number int64
}

// Error is the text of an error reply.
type Error string

func (e Error) Error() string { return string(e) }

// Err returns the Error of a Failed reply, else nil.
func (r Reply) Err() error {
	if r.Kind == Failed {
		return Error(r.Text)
	}
	return nil
}

// arguments precedes the arguments that a server quotes from an unknown command. Redis quotes them with ' since version 7,
// with ` before; proxies copy the text.
const arguments = ", with args beginning with:"

// longestError bounds the text of an error, which is kept and logged.
const longestError = 512

// inScript precedes the error of a command that a script called, before Redis 7.
var inScript = regexp.MustCompile(`^(ERR Error running script .*)?@user_script: ?\d+: -?`)

// ErrorOf turns a server's text into an Error. It removes the class ERR, which says nothing, the place in a script, and quoted
// arguments: one may be a token, or the password of a renamed AUTH. It cuts off what is longer than any server's.
func ErrorOf(text string) Error {
	text, _, _ = strings.Cut(text, arguments)
	text = strings.TrimPrefix(inScript.ReplaceAllString(text, ""), "ERR ")
	if len(text) > longestError {
		text = strings.Clone(text[:longestError])
	}
	return Error(text)
}

// WithoutArguments removes quoted arguments from a client library's error. An error that had some cannot be unwrapped.
func WithoutArguments(err error) error {
	if err != nil && strings.Contains(err.Error(), arguments) {
		return ErrorOf(err.Error())
	}
	return err
}

// AppendCommand appends a command of these words.
func AppendCommand(b []byte, words ...string) []byte {
	b = AppendHeader(b, '*', len(words))
	for _, word := range words {
		b = AppendBulk(b, word)
	}
	return b
}

// AppendHeader appends the first line of an array of n elements (sign *) or of a bulk string of n bytes (sign $).
func AppendHeader(b []byte, sign byte, n int) []byte {
	b = strconv.AppendInt(append(b, sign), int64(n), 10)
	return append(b, "\r\n"...)
}

// AppendBulk appends a bulk string.
func AppendBulk(b []byte, text string) []byte {
	b = append(AppendHeader(b, '$', len(text)), text...)
	return append(b, "\r\n"...)
}

// ErrProtocol is returned when the bytes read are no reply of one value. The connection is unusable then.
var ErrProtocol = errors.New("unexpected bytes in a reply")

// Unexpected returns the error for bytes that are no reply. It matches ErrProtocol.
func Unexpected(b []byte) error {
	const shown = 64
	return fmt.Errorf("%w: %q", ErrProtocol, b[:min(shown, len(b))])
}

// Bounds of a bulk string and of a list, far above the replies to any command used here.
const (
	longest   = 16 << 20
	mostItems = 1 << 10
)

// Read reads one reply. It blocks until the reply is complete. After an error the connection is unusable.
func Read(in *bufio.Reader) (Reply, error) {
	line, err := readLine(in)
	if err != nil {
		return Reply{}, err
	}
	if len(line) == 0 {
		return Reply{}, fmt.Errorf("%w: an empty line", ErrProtocol)
	}
	sign, rest := line[0], line[1:]
	switch sign {
	case '+':
		if string(rest) == "OK" {
			return Reply{Kind: Text, Text: "OK"}, nil // avoids an allocation
		}
		return Reply{Kind: Text, Text: string(rest)}, nil
	case '-':
		return Reply{Kind: Failed, Text: string(ErrorOf(string(rest)))}, nil
	case ':':
		n, err := strconv.ParseInt(string(rest), 10, 64)
		if err != nil {
			return Reply{}, Unexpected(line)
		}
		return Reply{Kind: Number, Number: n}, nil
	case '_':
		return Reply{Number: 3}, nil
	case '$', '=', '!':
		return readBulk(in, sign, line)
	}
	return Reply{}, Unexpected(line)
}

// ReadList reads a flat list of replies, or one reply as a list of one. It blocks until the list is complete.
func ReadList(in *bufio.Reader) ([]Reply, error) {
	if sign, err := in.Peek(1); err != nil {
		return nil, err
	} else if sign[0] == '*' {
		return readList(in, '*', 0, mostItems)
	}
	return ReadAll(in, 1, nil)
}

// readList reads a list of at least least and at most most replies, behind a line with their number.
func readList(in *bufio.Reader, sign byte, least, most int) ([]Reply, error) {
	line, err := readLine(in)
	if err != nil {
		return nil, err
	}
	count, isList := bytes.CutPrefix(line, []byte{sign})
	n, err := strconv.Atoi(string(count))
	if !isList || err != nil || n < least || n > most {
		return nil, Unexpected(line)
	}
	return ReadAll(in, n, make([]Reply, 0, n))
}

// ReadAll reads n replies and appends them to list, with an error those before it. All together may be as long as one.
func ReadAll(in *bufio.Reader, n int, list []Reply) ([]Reply, error) {
	bytes := 0
	for range n {
		reply, err := Read(in)
		if err != nil {
			return list, err
		}
		if bytes += len(reply.Text); bytes > longest {
			return list, fmt.Errorf("%w: too many bytes", ErrProtocol)
		}
		list = append(list, reply)
	}
	return list, nil
}

// mostPushed bounds the parts of a push.
const mostPushed = 8

// ReadPush reads a push of RESP3, a flat list whose first part is its kind. What begins otherwise is an error.
func ReadPush(in *bufio.Reader) ([]Reply, error) { return readList(in, '>', 1, mostPushed) }

// readBulk reads the bytes after the line with their length.
func readBulk(in *bufio.Reader, sign byte, line []byte) (Reply, error) {
	n, err := strconv.Atoi(string(line[1:]))
	switch {
	case err == nil && n == -1 && sign == '$':
		return Reply{}, nil
	case err != nil || n < 0 || n > longest:
		return Reply{}, Unexpected(line)
	}
	text, err := readText(in, n)
	if err != nil {
		return Reply{}, err
	}
	end, err := readLine(in)
	if err == nil && len(end) != 0 {
		err = fmt.Errorf("%w after a string", Unexpected(end))
	}
	switch {
	case err != nil:
		return Reply{}, err
	case sign == '!':
		return Reply{Kind: Failed, Text: string(ErrorOf(text))}, nil
	case sign == '=' && len(text) >= 4: // a verbatim string begins with "txt:"
		text = text[4:]
	}
	return Reply{Kind: Text, Text: text}, nil
}

// readText reads n bytes. It takes memory for the bytes received so far, not for the announced length.
func readText(in *bufio.Reader, n int) (string, error) {
	var text strings.Builder
	text.Grow(min(n, in.Size()))
	for text.Len() < n {
		part, err := in.Peek(min(n-text.Len(), max(1, in.Buffered())))
		if err != nil {
			return "", err
		}
		text.Write(part)
		_, _ = in.Discard(len(part)) // is there
	}
	return text.String(), nil
}

// readLine returns a line without its end. The line is valid until the next read.
func readLine(in *bufio.Reader) ([]byte, error) {
	line, err := in.ReadSlice('\n')
	switch {
	case errors.Is(err, bufio.ErrBufferFull):
		return nil, fmt.Errorf("%w: a line without end", ErrProtocol)
	case err != nil:
		return nil, err
	case len(line) < 2 || line[len(line)-2] != '\r':
		return nil, Unexpected(line)
	}
	return line[:len(line)-2], nil
}
