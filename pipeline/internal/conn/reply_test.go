package conn

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

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
		_, fault, err = GrantWords(replyOf(t, bulk("= 0 e\n"+text)))
		require.NoError(t, err)
		require.EqualError(t, fault, "unknown command 'DEL'")
		require.True(t, IsUnfit(fault))
	}
}

func TestFirstWordDistinguishesAnUnfitServerFromARefusedName(t *testing.T) {
	for _, c := range []struct {
		err   error
		word  string
		unfit bool
	}{
		{nil, "", false},
		{errors.New("for a test"), "", false},
		{net.ErrClosed, "", false},
		{resp.Error("OOM command not allowed"), "OOM", true},
		{fmt.Errorf("wrapped: %w", resp.Error("READONLY You can't write")), "READONLY", true},
		{replyOf(t, "-LOADING Redis is loading the dataset in memory\r\n").Err(), "LOADING", true},
		{fmt.Errorf("wrapped: %w", replyOf(t, "-MISCONF Errors writing\r\n").Err()), "MISCONF", true},
		{replyOf(t, "-BUSY\r\n").Err(), "BUSY", true},
		{replyOf(t, "-ERR unknown command 'DELEX', with args beginning with: 'name' 'IFEQ' 'token' \r\n").Err(), "unknown", true},
		{replyOf(t, "-ERR unknown command `DELEX`, with args beginning with: `name`, `IFEQ`, `token`, \r\n").Err(), "unknown", true},
		{replyOf(t, "-BUSYKEY Target key name already exists.\r\n").Err(), "BUSYKEY", false},
		{replyOf(t, "-WRONGTYPE Operation against a key\r\n").Err(), "WRONGTYPE", false},
		{replyOf(t, "-NOPERM this user has no permissions to access one of the keys used as arguments\r\n").Err(), "NOPERM", false},
		{replyOf(t, "-NOPERM No permissions to access a key\r\n").Err(), "NOPERM", false},
		{resp.Error("The user executing the script can't access at least one of the keys mentioned in the command arguments"), "The", false},
		{replyOf(t, "-NOPERM this user has no permissions to run the 'evalsha' command\r\n").Err(), "NOPERM", true},
		{resp.Error("The user executing the script can't run this command or subcommand"), "The", true},
	} {
		require.Equal(t, c.word, FirstWord(c.err), "%v", c.err)
		require.Equal(t, c.unfit, IsUnfit(c.err), "%v", c.err)
	}
	for _, word := range ServerWideErrors {
		require.True(t, IsServerWide(replyOf(t, "-"+word+" text\r\n").Err()), word)
		require.Equal(t, strings.TrimSpace(word), word)
	}
}
