package conn

import (
	"fmt"
	"hash/fnv"
	"strconv"
	"strings"
	"time"

	"muxlock/internal/fencing"
	"muxlock/internal/limits"
	"muxlock/internal/line"
	"muxlock/internal/quorum"
	"muxlock/internal/resp"
	"muxlock/scripts"
)

// Prefixes of a line's keys, followed by the name. With fencing they are others, so that a lock with a fencing token is
// never passed to a client without fencing.
const (
	lineKey, entriesKey             = ReservedPrefix + "q:", ReservedPrefix + "w:"
	fencedLineKey, fencedEntriesKey = ReservedPrefix + "Q:", ReservedPrefix + "W:"
)

// A Line has the arguments of a Wait or a Pass beside the name and the token. It must not change once it was sent.
type Line struct {
	line.Request // of a Wait

	// Of a Pass:
	Open   bool      // leave the name open instead of passing the lock on, and wake two
	Nobody bool      // delete it, and offer it to nobody
	Word   string    // travels with the lock
	Named  [2]string // tokens to pass it to rather than to the first in line; "": none
}

// An Answer is a master's message about a token in line: a reply to Wait, or a push.
type Answer = line.Answer[string]

// Readers is the Value of an Answer where readers hold the name.
const Readers = "readers"

// passedOn is the reply to a Pass that gave the lock to another token, or notified one that it is left open.
const passedOn = 2

// InLine adds the call for a Wait or a Pass. For a Wait, channel is the connection's own channel.
func (b *Batch) InLine(q *Request, channel, set string) {
	script, l, keys, args := &scripts.Pass, q.Line, 3, 6
	if q.Op == Wait {
		script, args = &scripts.Wait, 9
	}
	if l == nil {
		l = new(Line)
	}
	line, entries, tag := lineKey, entriesKey, "-"
	if set != "" {
		line, entries, tag = fencedLineKey, fencedEntriesKey, tagOf(set)
		keys, args = 6, args+3
	}
	b.Begin(3 + keys + args)
	b.Add("EVALSHA", script.SHA1)
	b.AddNumber(uint64(keys))
	b.Add(q.Name, line+q.Name, entries+q.Name)
	if set != "" {
		b.Add(SetKey, MarkKey, RegistersKey)
	}
	b.Add(q.Token)
	if q.Op == Wait {
		b.AddNumber(uint64(l.Version))
		b.AddMillis(l.Lease)
		b.AddMillis(l.Stale)
		b.Add(channel, tag)
		if l.Stay {
			b.Add("")
		} else {
			b.AddMillis(l.Waited)
		}
		b.Add(either(l.Told, "1", either(l.Queued, "-", "0")))
		b.AddMillis(q.TTL)
	} else {
		b.Add(either(l.Open, "o", either(l.Nobody, "n", "p")), orNone(l.Word), tag, orNone(l.Named[0]), orNone(l.Named[1]))
	}
	if set != "" {
		b.Add(set, strconv.Itoa(fencing.Register(q.Name)))
		b.AddNumber(q.Fence)
	}
}

func either(first bool, one, other string) string {
	if first {
		return one
	}
	return other
}

// orNone returns the word, or the sign for an empty word.
func orNone(word string) string { return either(word != "", word, "-") }

// tagOf returns a short hash of a set's description.
func tagOf(set string) string {
	h := fnv.New64a()
	_, _ = h.Write([]byte(set)) // cannot fail
	return strconv.FormatUint(h.Sum64(), 16)
}

// waitAnswer reads the reply to q, a Wait, without the mark of fencing.
func waitAnswer(q *Request, reply resp.Reply) (a Answer, v quorum.Vote, err error) {
	a, ok := answer(reply.Text)
	if !ok || reply.Kind != resp.Text {
		return a, quorum.Unknown, fmt.Errorf("%w to the wait script", ErrUnexpected)
	}
	switch a.Version = q.Line.Version; a.Kind {
	case line.Granted:
		a.Lease = q.TTL
		return a, quorum.Granted, nil
	case line.Has:
		return a, quorum.Granted, nil
	}
	return a, quorum.Refused, nil
}

// PushedAnswer reads a message on a connection's channel: the token that it is for, and the answer. It reports false if no
// script sends such a message.
func PushedAnswer(message string) (token string, a Answer, ok bool) {
	kind, rest, _ := strings.Cut(message, "\n")
	token, rest, _ = strings.Cut(rest, "\n")
	switch {
	case token == "" || len(token) > limits.ValueBytes:
		return "", a, false
	case kind == string(line.Opened) || kind == string(line.Free):
		return token, Answer{Kind: line.Kind(kind[0])}, rest == ""
	case kind != string(line.Granted):
		return "", a, false
	}
	w := strings.SplitN(rest, "\n", 7)
	if len(w) < 6 {
		return "", a, false
	}
	version, badVersion := strconv.ParseUint(w[0], 10, 32)
	lease, badLease := millis(w[1])
	fence, badFence := strconv.ParseUint(w[2], 10, 64)
	a = Answer{Kind: line.Granted, Version: uint32(version), Lease: lease, Fence: fence, Word: word(w[3]), Next: next(w[4:6])}
	if len(w) == 7 {
		a.Mark = w[6]
	}
	return token, a, badVersion == nil && badLease == nil && badFence == nil
}

// words is the number of words that a reply of each kind has.
var words = map[line.Kind]int{line.Granted: 4, line.Has: 2, line.InLine: 3, line.Missing: 1}

// answer reads the words of a reply.
func answer(text string) (a Answer, ok bool) {
	if text == "" {
		return a, false
	}
	a.Kind = line.Kind(text[0])
	n := words[a.Kind]
	w := strings.SplitN(text, "\n", max(n, 1))
	if n == 0 || len(w) != n || len(w[0]) != 1 {
		return a, false
	}
	var err error
	switch a.Kind {
	case line.Granted:
		a.Next = next(w[2:])
		a.Fence, err = strconv.ParseUint(w[1], 10, 64)
	case line.Has:
		a.Lease, err = millis(w[1])
	case line.InLine:
		a.Value = w[2]
		a.Rank, err = strconv.Atoi(w[1])
	}
	return a, err == nil
}

// millis reads a time to live. No expiry counts as expired: the scripts always set one.
func millis(text string) (time.Duration, error) {
	ms, err := strconv.ParseInt(text, 10, 42)
	return time.Duration(max(0, ms)) * time.Millisecond, err
}

func next(words []string) [2]string { return [2]string{word(words[0]), word(words[1])} }

// word is the inverse of orNone.
func word(text string) string { return either(text != "-", text, "") }
