package conn

import (
	"bufio"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"muxlock/internal/line"
	"muxlock/internal/quorum"
	"muxlock/internal/resp"
)

// replyOf reads a reply from the wire.
func replyOf(t testing.TB, wire string) resp.Reply {
	t.Helper()
	reply, err := resp.Read(bufio.NewReader(strings.NewReader(wire)))
	require.NoError(t, err)
	return reply
}

func bulk(text string) string { return fmt.Sprintf("$%d\r\n%s\r\n", len(text), text) }

func TestOnlyAParsedYesOrNoIsAVote(t *testing.T) {
	for _, c := range []struct {
		op   Op
		wire string
		vote quorum.Vote
		err  string
	}{
		{Acquire, "+OK\r\n", quorum.Granted, ""},
		{Acquire, "$2\r\nOK\r\n", quorum.Granted, ""},
		{Acquire, "_\r\n", quorum.Refused, ""},
		{Acquire, "$-1\r\n", quorum.Refused, ""},
		{Acquire, "+QUEUED\r\n", quorum.Unknown, "unexpected reply"},
		{Acquire, "+\r\n", quorum.Unknown, "unexpected reply"},
		{Acquire, ":1\r\n", quorum.Unknown, "unexpected reply"},
		{Acquire, "-OOM command not allowed\r\n", quorum.Unknown, "OOM"},
		{Extend, ":1\r\n", quorum.Granted, ""},
		{Extend, ":0\r\n", quorum.Refused, ""},
		{Extend, ":-1\r\n", quorum.Refused, ""},
		{Extend, ":2\r\n", quorum.Unknown, "unexpected reply"},
		{Release, ":1\r\n", quorum.Granted, ""},
		{Release, ":0\r\n", quorum.Refused, ""},
		{Release, ":-1\r\n", quorum.Refused, ""},
		{Release, ":-2\r\n", quorum.Unknown, "unexpected reply"},
		{Release, "+OK\r\n", quorum.Unknown, "unexpected reply"},
		{Release, "_\r\n", quorum.Unknown, "unexpected reply"},
		{Release, "-NOSCRIPT No matching script\r\n", quorum.Unknown, "NOSCRIPT"},
	} {
		t.Run(fmt.Sprintf("%d %q", c.op, c.wire), func(t *testing.T) {
			vote, err := PlainVote(c.op, replyOf(t, c.wire))
			require.Equal(t, c.vote, vote)
			if c.err == "" {
				require.NoError(t, err)
			} else {
				require.ErrorContains(t, err, c.err)
			}
		})
	}
}

func TestBatchReplyIsReadEntryByEntry(t *testing.T) {
	for _, c := range []struct {
		text, votes, fault string
	}{
		{"", "111", ""},
		{"101", "101", ""},
		{"e01\nWRONGTYPE of a kind", "e01", "WRONGTYPE"},
		{"e01\n-OOM on an older server", "e01", "OOM"},
		{"e01\nMISCONF \r\n with line feeds", "e01", "MISCONF"},
		{"e01\nERR unknown", "e01", "unknown"},
	} {
		votes, fault, err := BatchVotes(replyOf(t, bulk(c.text)), 3)
		require.NoError(t, err, c.text)
		require.Equal(t, c.votes, votes)
		require.Equal(t, c.fault, FirstWord(fault))
		require.Equal(t, c.fault == "", errors.Is(fault, ErrUnexpected))
	}
	for _, wire := range []string{
		bulk("1"), bulk("11"), bulk("1111"), bulk("11\nOOM"), bulk("111OOM"), "_\r\n", ":111\r\n", "-BUSY running a script\r\n",
	} {
		votes, _, err := BatchVotes(replyOf(t, wire), 3)
		require.Error(t, err, "%q gives votes %q", wire, votes)
	}
}

func TestErrorsInTheAnswersOfScriptsAreReadWithoutQuotedArguments(t *testing.T) {
	for _, text := range []string{
		"ERR unknown command 'DEL', with args beginning with: 'name' 'token' ",
		"-ERR unknown command 'DEL', with args beginning with: 'name' 'token' ",
	} {
		_, fault, err := BatchVotes(replyOf(t, bulk("e01\n"+text)), 3)
		require.NoError(t, err)
		require.EqualError(t, fault, "unknown command 'DEL'")
		require.True(t, IsUnfit(fault))
		var v Votes
		v.grants(make([]Request, 3), replyOf(t, bulk("= 0 e\n"+text)))
		require.Equal(t, Vote{Unfit: true, Err: fault}, v.Of[2])
	}
}

// carried is a load of one command of each kind.
func carried(t testing.TB, kind Kind, n int) *Load {
	q, d, set, each := Request{TTL: time.Second}, Dialect(0), "", max(n, FoldFrom)
	switch kind {
	case KindPlain:
		each = 1
	case KindBatch:
		q.Op = Release
	case KindMsetex:
		d = Msetex
	case KindWait, KindPass:
		q.Op, q.Line, each, set = Wait, &Line{Request: line.Request{Version: 7}}, 1, "set"
		if kind == KindPass {
			q.Op = Pass
		}
	case KindShared:
		q.Shared, each, set = true, n, "set"
	case KindFencedAcquire:
		q.Fence, each, set = 5, n, "set"
	case KindFencedExtend:
		q.Op, each, set = Extend, n, "set"
	}
	l := &Load{Dialect: d, Channel: "channel"}
	for range each {
		q.Name = fmt.Sprint("name", len(l.Entries))
		l.Entries = append(l.Entries, q)
	}
	l.Seal(set)
	require.Equal(t, []Command{{len(l.Entries), kind}}, l.Commands)
	return l
}

const granted, refused, unknown = quorum.Granted, quorum.Refused, quorum.Unknown

func TestWhatAReplySaysOfEachRequest(t *testing.T) {
	const denied = "NOPERM No permissions to access a key"
	for _, c := range []struct {
		kind Kind
		wire string
		says []quorum.Vote // of the first requests
		want Votes         // but for Of
	}{
		{KindPlain, "+OK\r\n", []quorum.Vote{granted}, Votes{}},
		{KindPlain, "-" + denied + "\r\n", []quorum.Vote{unknown}, Votes{}},
		{KindPass, ":2\r\n", []quorum.Vote{granted}, Votes{PassedOn: true}},
		{KindPass, ":1\r\n", []quorum.Vote{granted}, Votes{}},
		{KindBatch, bulk(""), []quorum.Vote{granted, granted}, Votes{}},
		{KindBatch, bulk("01e11111\nOOM"), []quorum.Vote{refused, granted, unknown}, Votes{}},
		{KindBatch, bulk("e1n11111\nWRONGTYPE"), []quorum.Vote{refused, granted, refused}, Votes{}},
		{KindBatch, "-NOSCRIPT\r\n", []quorum.Vote{unknown, unknown}, Votes{Again: Loaded}},
		{KindBatch, "-" + denied + "\r\n", []quorum.Vote{unknown, unknown}, Votes{Again: OneEach}},
		{KindMsetex, ":1\r\n", []quorum.Vote{granted, granted}, Votes{}},
		{KindMsetex, ":0\r\n", []quorum.Vote{refused, refused}, Votes{Again: OneEach}},
		{KindMsetex, ":2\r\n", []quorum.Vote{unknown, unknown}, Votes{}},
		{KindWait, bulk("mark\nx"), []quorum.Vote{refused}, Votes{Marked: true, Mark: "mark", Answer: Answer{Kind: line.Missing, Version: 7}}},
		{KindWait, bulk("mark\nx\n1"), []quorum.Vote{unknown}, Votes{Marked: true, Mark: "mark"}},
		{KindShared, bulk("mark\n0n1"), []quorum.Vote{refused, refused, granted}, Votes{Marked: true, Mark: "mark"}},
		{KindFencedAcquire, bulk("mark\n= 9 0 n e\nMUXLOCKREGISTER"), []quorum.Vote{granted, granted, refused, refused, unknown}, Votes{Marked: true, Mark: "mark"}},
		{KindFencedExtend, bulk("mark\n01"), []quorum.Vote{refused, granted}, Votes{Marked: true, Mark: "mark"}},
	} {
		var got Votes
		l := carried(t, c.kind, len(c.says))
		l.Votes(0, replyOf(t, c.wire), &got)
		require.Len(t, got.Of, len(l.Entries))
		for i, says := range c.says {
			require.Equal(t, says, got.Of[i].Says, "%d %q: request %d", c.kind, c.wire, i)
		}
		if c.kind == KindFencedAcquire {
			require.Equal(t, []uint64{5, 9, 0, 0, 0}, []uint64{got.Of[0].Fence, got.Of[1].Fence, got.Of[2].Fence, got.Of[3].Fence, got.Of[4].Fence})
			require.ErrorIs(t, got.Of[4].Err, ErrRegister)
		}
		if c.kind == KindShared {
			require.True(t, got.Of[0].Held)
			require.False(t, got.Of[1].Held, "it was not tried")
		}
		got.Of = nil
		require.Equal(t, c.want, got, "%d %q", c.kind, c.wire)
	}
}

func TestWhyARequestHasNoVote(t *testing.T) {
	const key, command, other = "NOPERM No permissions to access a key", "NOPERM this user has no permissions to run the 'x' command", "WRONGTYPE of a kind"
	for _, c := range []struct {
		op     Op
		shared bool
		wire   string
		want   Vote  // but for Err
		class  error // of Err
	}{
		{Acquire, false, key, Vote{}, ErrDenied},
		{Acquire, false, command, Vote{Unfit: true}, nil},
		{Acquire, true, command, Vote{}, ErrDenied},
		{Intend, false, command, Vote{}, ErrDenied},
		{Release, false, other, Vote{Says: refused}, nil},
		{Pass, false, other, Vote{Says: refused}, nil},
		{Extend, false, other, Vote{Says: refused}, nil},
		{Acquire, false, other, Vote{}, nil},
		{Acquire, false, "MUXLOCKREGISTER register 5", Vote{}, ErrRegister},
		{Acquire, false, "OOM command not allowed", Vote{Unfit: true}, nil},
		{Acquire, false, "ERR of a name", Vote{}, nil},
	} {
		var v Votes
		v.add(&Request{Op: c.op, Shared: c.shared}, unknown, replyOf(t, "-"+c.wire+"\r\n").Err())
		got := v.Of[0]
		if c.class != nil {
			require.ErrorIs(t, got.Err, c.class, c.wire)
		} else {
			require.False(t, IsAs(ErrDenied, got.Err) || IsAs(ErrRegister, got.Err), c.wire)
		}
		require.Equal(t, c.want.Says == refused, got.Err == nil, c.wire)
		got.Err = nil
		require.Equal(t, c.want, got, "%d %s", c.op, c.wire)
	}
}

func TestOfAJointRequestARefusalMeansThatTheNameIsHeld(t *testing.T) {
	for _, q := range []struct {
		Request
		held bool
	}{
		{Request{}, false}, {Request{Joint: 1}, true}, {Request{Joint: 1, OneOf: true}, false},
		{Request{Shared: true}, true}, {Request{OneOf: true}, false},
	} {
		var v Votes
		v.refused(&q.Request)
		require.Equal(t, []Vote{{Says: refused, Held: q.held}}, v.Of, "%+v", q)
	}
}

func TestReplyOfAnotherKindIsNoVote(t *testing.T) {
	var v Votes
	v.msetex(make([]Request, 1), replyOf(t, "+1\r\n"))
	require.Equal(t, unknown, v.Of[0].Says)
	v = Votes{}
	v.msetex(make([]Request, 1), replyOf(t, ":-1\r\n"))
	require.Equal(t, unknown, v.Of[0].Says)
	v = Votes{}
	v.grants(make([]Request, 1), replyOf(t, bulk("12")))
	require.Equal(t, []Vote{{Says: granted, Fence: 12}}, v.Of)
	many := strings.Repeat("1", FoldMax+1)
	votes, _, err := BatchVotes(replyOf(t, bulk("")), len(many))
	require.NoError(t, err)
	require.Equal(t, many, votes)
	votes, _, err = BatchVotes(replyOf(t, bulk("0"+many[1:])), len(many))
	require.NoError(t, err)
	require.Equal(t, "0"+many[1:], votes)
}

// Whatever a server answers, each request has one vote: a parsed yes or no, or the reason why there is none.
func FuzzVotes(f *testing.F) {
	for kind := range kinds {
		for _, wire := range []string{"+OK\r\n", ":1\r\n", "_\r\n", "-NOSCRIPT\r\n", "-NOPERM\r\n", bulk(""), bulk("mark\n"), bulk("m\n1n0e\nOOM"), bulk("= 0 7 n"), bulk("m\ng\n1\na\nb")} {
			f.Add(uint8(kind), uint8(kind), wire)
		}
	}
	f.Fuzz(func(t *testing.T, kind, n uint8, wire string) {
		reply, err := resp.Read(bufio.NewReader(strings.NewReader(wire)))
		if err != nil {
			return
		}
		l := carried(t, Kind(kind)%Kind(len(kinds)), 1+int(n%20))
		v := Votes{Of: []Vote{{Says: granted}}} // of the reply before
		l.Votes(0, reply, &v)
		require.Len(t, v.Of, len(l.Entries))
		for i, vote := range v.Of {
			require.Equal(t, vote.Says == unknown, vote.Err != nil, "%d: %+v", i, vote)
			require.False(t, vote.Says == granted && (reply.Err() != nil || v.Again != No), "%d was not executed", i)
			require.False(t, vote.Says != granted && vote.Fence != 0 || vote.Says != refused && vote.Held || vote.Unfit && vote.Err == nil)
		}
		require.False(t, v.Answer.Kind != 0 && v.Of[0].Err != nil, "nobody hears an answer that was not understood")
	})
}
