package pipeline

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

func TestOnlyAParsedYesOrNoIsAVote(t *testing.T) {
	for _, c := range []struct {
		op   Op
		wire string
		vote quorum.Vote
		err  string
	}{
		{Acquire, "+OK\r\n", granted, ""},
		{Acquire, "$2\r\nOK\r\n", granted, ""},
		{Acquire, "_\r\n", refused, ""},
		{Acquire, "$-1\r\n", refused, ""},
		{Acquire, "+QUEUED\r\n", unknown, "unexpected reply"},
		{Acquire, "+\r\n", unknown, "unexpected reply"},
		{Acquire, ":1\r\n", unknown, "unexpected reply"},
		{Acquire, "-OOM command not allowed\r\n", unknown, "OOM"},
		{Extend, ":1\r\n", granted, ""},
		{Extend, ":0\r\n", refused, ""},
		{Extend, ":-1\r\n", refused, ""},
		{Extend, ":2\r\n", unknown, "unexpected reply"},
		{Release, ":1\r\n", granted, ""},
		{Release, ":0\r\n", refused, ""},
		{Release, ":-1\r\n", refused, ""},
		{Release, ":-2\r\n", unknown, "unexpected reply"},
		{Release, "+OK\r\n", unknown, "unexpected reply"},
		{Release, "_\r\n", unknown, "unexpected reply"},
		{Release, "-NOSCRIPT No matching script\r\n", unknown, "NOSCRIPT"},
	} {
		t.Run(fmt.Sprintf("%d %q", c.op, c.wire), func(t *testing.T) {
			vote, err := plainVote(c.op, replyOf(t, c.wire))
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
		votes, fault, err := batchVotes(replyOf(t, bulk(c.text)), 3)
		require.NoError(t, err, c.text)
		require.Equal(t, c.votes, votes)
		require.Equal(t, c.fault, firstWord(fault))
		require.Equal(t, c.fault == "", errors.Is(fault, errUnexpected))
	}
	for _, wire := range []string{
		bulk("1"), bulk("11"), bulk("1111"), bulk("11\nOOM"), bulk("111OOM"), "_\r\n", ":111\r\n", "-BUSY running a script\r\n",
	} {
		votes, _, err := batchVotes(replyOf(t, wire), 3)
		require.Error(t, err, "%q gives votes %q", wire, votes)
	}
}

func TestErrorsInTheAnswersOfScriptsAreReadWithoutQuotedArguments(t *testing.T) {
	for _, text := range []string{
		"ERR unknown command 'DEL', with args beginning with: 'name' 'token' ",
		"-ERR unknown command 'DEL', with args beginning with: 'name' 'token' ",
	} {
		_, fault, err := batchVotes(replyOf(t, bulk("e01\n"+text)), 3)
		require.NoError(t, err)
		require.EqualError(t, fault, "unknown command 'DEL'")
		_, fault, err = grantWords(replyOf(t, bulk("= 0 e\n"+text)))
		require.NoError(t, err)
		require.EqualError(t, fault, "unknown command 'DEL'")
		require.True(t, isUnfit(fault))
	}
}

func TestFirstWordDistinguishesAnUnfitServerFromARefusedName(t *testing.T) {
	for _, c := range []struct {
		err   error
		word  string
		unfit bool
	}{
		{nil, "", false},
		{errTest, "", false},
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
		require.Equal(t, c.word, firstWord(c.err), "%v", c.err)
		require.Equal(t, c.unfit, isUnfit(c.err), "%v", c.err)
	}
	for _, word := range serverWideErrors {
		require.True(t, isServerWide(replyOf(t, "-"+word+" text\r\n").Err()), word)
		require.Equal(t, strings.TrimSpace(word), word)
	}
}

func TestMisconfigurationIsWhatWaitingCannotMend(t *testing.T) {
	for _, word := range []string{"WRONGPASS", "NOAUTH", "NOPERM"} {
		require.True(t, isMisconfigured(replyOf(t, "-"+word+" text\r\n").Err()), word)
	}
	require.True(t, isMisconfigured(fmt.Errorf("%w as m1", errSameServer)))
	require.False(t, isMisconfigured(replyOf(t, "-LOADING text\r\n").Err()))
	require.False(t, isMisconfigured(net.ErrClosed))
	require.False(t, isMisconfigured(nil))
}
