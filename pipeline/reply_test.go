package pipeline

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"muxlock/internal/quorum"
)

// resultOf returns what rueidis makes of a reply on the wire.
func resultOf(t testing.TB, wire string) rueidis.RedisResult {
	t.Helper()
	theirs, ours := net.Pipe()
	served := side(func() {
		in := bufio.NewReader(ours)
		for {
			args, err := readCommand(in)
			if err != nil {
				return
			}
			reply := wire
			switch args[0] {
			case "HELLO":
				reply = "%1\r\n+proto\r\n:3\r\n"
			case "CLIENT", "PING":
				reply = "+OK\r\n"
			}
			go ours.Write([]byte(reply))
		}
	})
	client, err := rueidis.NewClient(rueidis.ClientOption{
		InitAddress: []string{"-"}, ForceSingleClient: true, DisableCache: true, DisableRetry: true, ClientSetInfo: rueidis.DisableClientSetInfo,
		DialCtxFn: func(context.Context, string, *net.Dialer, *tls.Config) (net.Conn, error) { return theirs, nil },
	})
	require.NoError(t, err)
	result := client.Do(context.Background(), client.B().Arbitrary("GET").Args("a").Build())
	client.Close()
	ours.Close()
	served()
	return result
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
		{Acquire, ":1\r\n", unknown, " "},
		{Acquire, "*0\r\n", unknown, " "},
		{Acquire, "-OOM command not allowed\r\n", unknown, "OOM"},
		{Extend, ":1\r\n", granted, ""},
		{Extend, ":0\r\n", refused, ""},
		{Extend, ":-1\r\n", refused, ""},
		{Extend, ":2\r\n", unknown, "unexpected reply"},
		{Release, ":1\r\n", granted, ""},
		{Release, ":0\r\n", refused, ""},
		{Release, ":-1\r\n", refused, ""},
		{Release, ":-2\r\n", unknown, "unexpected reply"},
		{Release, "+OK\r\n", unknown, " "},
		{Release, "_\r\n", unknown, "nil"},
		{Release, "-NOSCRIPT No matching script\r\n", unknown, "NOSCRIPT"},
	} {
		t.Run(fmt.Sprintf("%d %q", c.op, c.wire), func(t *testing.T) {
			vote, err := plainVote(c.op, resultOf(t, c.wire))
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
	} {
		votes, fault, err := batchVotes(resultOf(t, bulk(c.text)), 3)
		require.NoError(t, err, c.text)
		require.Equal(t, c.votes, votes)
		require.Equal(t, c.fault, firstWord(fault))
		require.Equal(t, c.fault == "", errors.Is(fault, errOdd))
	}
	for _, wire := range []string{
		bulk("1"), bulk("11"), bulk("1111"), bulk("11\nOOM"), bulk("111OOM"), "_\r\n", ":111\r\n", "*0\r\n", "-BUSY running a script\r\n",
	} {
		votes, _, err := batchVotes(resultOf(t, wire), 3)
		require.Error(t, err, "%q gives votes %q", wire, votes)
	}
}

func TestFirstWordTellsASickServerFromARefusedName(t *testing.T) {
	for _, c := range []struct {
		err  error
		word string
		sick bool
	}{
		{nil, "", false},
		{errTest, "", false},
		{net.ErrClosed, "", false},
		{serverError("OOM command not allowed"), "OOM", true},
		{fmt.Errorf("wrapped: %w", serverError("READONLY You can't write")), "READONLY", true},
		{resultOf(t, "-LOADING Redis is loading the dataset in memory\r\n").Error(), "LOADING", true},
		{fmt.Errorf("wrapped: %w", resultOf(t, "-MISCONF Errors writing\r\n").Error()), "MISCONF", true},
		{resultOf(t, "-BUSY\r\n").Error(), "BUSY", true},
		{resultOf(t, "-BUSYKEY Target key name already exists.\r\n").Error(), "BUSYKEY", false},
		{resultOf(t, "-WRONGTYPE Operation against a key\r\n").Error(), "WRONGTYPE", false},
		{resultOf(t, "-NOPERM No permissions\r\n").Error(), "NOPERM", false},
	} {
		require.Equal(t, c.word, firstWord(c.err), "%v", c.err)
		require.Equal(t, c.sick, isSick(c.err), "%v", c.err)
	}
	for _, word := range sickness {
		require.True(t, isSick(resultOf(t, "-"+word+" text\r\n").Error()), word)
		require.Equal(t, strings.TrimSpace(word), word)
	}
}

func TestMisconfigurationIsWhatWaitingCannotMend(t *testing.T) {
	for _, word := range []string{"WRONGPASS", "NOAUTH", "NOPERM"} {
		require.True(t, isMisconfigured(resultOf(t, "-"+word+" text\r\n").Error()), word)
	}
	require.True(t, isMisconfigured(fmt.Errorf("%w as m1", ErrSameServer)))
	require.False(t, isMisconfigured(resultOf(t, "-LOADING text\r\n").Error()))
	require.False(t, isMisconfigured(net.ErrClosed))
	require.False(t, isMisconfigured(nil))
}
