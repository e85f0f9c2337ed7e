package conn

import (
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"muxlock/internal/resp"
)

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
