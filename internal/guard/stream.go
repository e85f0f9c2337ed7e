package guard

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"muxlock/internal/resp"
)

// Bounds of what is read before all has been answered, far above the replies to any command used here. rueidis takes 48
// bytes for an item.
const (
	mostBytes = 4 << 20
	mostItems = 1 << 16
	mostDepth = 8
	mostLine  = 64 << 10
	mostKind  = 64 // of a push
)

// A stream follows values of RESP3 as their bytes come. It is strict where rueidis is lax, so that both see the same values.
type stream struct {
	asked  *atomic.Int64 // how many values may come, pushes not counted; nil: any number
	hello  *atomic.Int64 // which of them answers HELLO, from 1; set if asked is
	values int64         // that are complete, pushes not counted
	said   resp.Error    // the last value, if it is an error
	bytes  int           // of lines and strings, as announced, since all was answered
	items  int           // the same of lists

	line  []byte // what has come of a line
	rest  int    // bytes of a string still to come, with its end
	lists []int  // how many items each open list still needs
	push  bool   // the value is a push
	kind  bool   // the next string is the kind of a push
	named []byte // what has come of that string
}

// scan takes the next bytes, and returns those that rueidis is to see, in the same memory. After an error the stream is
// unusable.
func (s *stream) scan(b []byte) (seen []byte, err error) {
	seen = b
	for len(b) > 0 && err == nil {
		if s.rest > 0 {
			n := min(s.rest, len(b))
			err = s.takeText(b[:n])
			b = b[n:]
			continue
		}
		if len(s.line) == 0 {
			if err := s.begin(b); err != nil {
				return nil, err
			}
		}
		n := bytes.IndexByte(b, '\n') + 1
		if n == 0 {
			n = len(b)
		}
		s.line = append(s.line, b[:n]...)
		s.bytes += n
		b = b[n:]
		most := longestLine(s.line[0])
		switch line, ended := bytes.CutSuffix(s.line, []byte("\r\n")); {
		case s.bytes > mostBytes || len(s.line) > most:
			return nil, fmt.Errorf("%w: too much in a line", resp.ErrProtocol)
		case ended:
			if s.asked != nil && len(s.lists) == 0 && !s.push {
				s.said = ""
				if line[0] == '-' {
					s.said = resp.ErrorOf(string(line[1:]))
				}
				// A line that came in pieces stays: rueidis has some of it. The next connection tries again.
				if from := len(seen) - len(b) - len(s.line); s.refusesHello() && from >= 0 {
					seen = slices.Replace(seen, from, from+len(s.line), noFields...)
					b = seen[from+len(noFields):]
				}
			}
			s.line = s.line[:0]
			err = s.takeLine(line[0], string(line[1:]))
		case len(s.line) == most || bytes.HasSuffix(s.line, []byte("\n")):
			return nil, resp.Unexpected(s.line)
		}
	}
	return seen, err
}

// noFields answers HELLO without a proto, so that rueidis uses RESP2.
var noFields = []byte("%0\r\n")

// refusesHello reports whether the last reply refuses HELLO, and not the password.
func (s *stream) refusesHello() bool {
	return s.said != "" && s.values+1 == s.hello.Load() && !strings.HasPrefix(string(s.said), "WRONGPASS ")
}

// begin looks at the first byte of a line.
func (s *stream) begin(b []byte) error {
	if strings.IndexByte("+-:,(#_$=!*%~>", b[0]) < 0 {
		return resp.Unexpected(b)
	}
	if len(s.lists) > 0 {
		return nil
	}
	s.push = b[0] == '>'
	if !s.push && s.idle() {
		return fmt.Errorf("%w: a reply to no command", resp.ErrProtocol)
	}
	return nil
}

// idle reports whether all has been answered.
func (s *stream) idle() bool { return s.asked != nil && s.values == s.asked.Load() }

// longestLine returns how long a line may be, with its end. rueidis does not look for the end of a null or a boolean.
func longestLine(sign byte) int {
	switch sign {
	case '_':
		return len("_\r\n")
	case '#':
		return len("#t\r\n")
	case '+', '-', ',', '(':
		return mostLine
	}
	return len(":-9223372036854775808\r\n")
}

func (s *stream) takeLine(sign byte, text string) error {
	kind := s.kind
	s.kind = false
	if kind && sign != '+' && sign != '$' || kind && sign == '+' && subscribes(text) {
		return errPush
	}
	switch sign {
	case ':':
		if _, err := strconv.ParseInt(text, 10, 64); err != nil {
			return resp.Unexpected([]byte(":" + text))
		}
	case '$', '=', '!', '*', '%', '~', '>':
		if text == "-1" && !kind && (sign == '$' || sign == '*') { // null
			break
		}
		n, err := strconv.ParseUint(text, 10, 31)
		if err != nil {
			return resp.Unexpected([]byte(string(sign) + text))
		}
		if sign == '$' || sign == '=' || sign == '!' {
			return s.openText(int(n), kind)
		}
		return s.openList(sign, int(n))
	}
	s.done()
	return nil
}

func (s *stream) openText(n int, kind bool) error {
	s.bytes += n
	if s.bytes > mostBytes || kind && n > mostKind {
		return fmt.Errorf("%w: a string of %d bytes", resp.ErrProtocol, n)
	}
	s.rest, s.kind, s.named = n+len("\r\n"), kind, s.named[:0]
	return nil
}

func (s *stream) openList(sign byte, n int) error {
	if sign == '%' {
		n *= 2
	}
	if sign == '>' {
		if n == 0 || len(s.lists) > 0 {
			return errPush
		}
		s.kind = true
	}
	s.items += n
	if s.items > mostItems || len(s.lists) == mostDepth {
		return fmt.Errorf("%w: a list of %d items", resp.ErrProtocol, n)
	}
	if n == 0 {
		s.done()
	} else {
		s.lists = append(s.lists, n)
	}
	return nil
}

// takeText takes bytes of a string, or of its end.
func (s *stream) takeText(b []byte) error {
	if s.kind {
		s.named = append(s.named, b...)
	}
	end := b[min(len(b), max(0, s.rest-len("\r\n"))):]
	if !strings.HasPrefix("\r\n"[max(0, len("\r\n")-s.rest):], string(end)) {
		return fmt.Errorf("%w: a string without end", resp.ErrProtocol)
	}
	if s.rest -= len(b); s.rest > 0 {
		return nil
	}
	if s.kind && subscribes(strings.TrimSuffix(string(s.named), "\r\n")) {
		return errPush
	}
	s.kind = false
	s.done()
	return nil
}

// done ends a value, and the lists whose last item it is.
func (s *stream) done() {
	for n := len(s.lists) - 1; n >= 0; n-- {
		if s.lists[n]--; s.lists[n] > 0 {
			return
		}
		s.lists = s.lists[:n]
	}
	if !s.push {
		s.values++
	}
	if s.asked == nil || s.idle() {
		s.bytes, s.items = 0, 0
	}
}

var errPush = fmt.Errorf("%w: a push of no kind, in a reply, or about subscriptions", resp.ErrProtocol)

// subscribes reports whether rueidis takes a push of this kind for the reply to a command.
func subscribes(kind string) bool { return strings.HasSuffix(kind, "subscribe") }
