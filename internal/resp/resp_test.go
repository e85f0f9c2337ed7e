package resp

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestRepliesOfOneValue(t *testing.T) {
	for wire, want := range map[string]Reply{
		"+OK\r\n":                    {Kind: Text, Text: "OK"},
		"+PONG\r\n":                  {Kind: Text, Text: "PONG"},
		"$0\r\n\r\n":                 {Kind: Text},
		"$5\r\na\r\nbc\r\n":          {Kind: Text, Text: "a\r\nbc"},
		"=7\r\ntxt:abc\r\n":          {Kind: Text, Text: "abc"},
		":-2\r\n":                    {Kind: Number, Number: -2},
		":9223372036854775807\r\n":   {Kind: Number, Number: 1<<63 - 1},
		"_\r\n":                      {Number: 3},
		"$-1\r\n":                    {},
		"-NOSCRIPT No matching.\r\n": {Kind: Failed, Text: "NOSCRIPT No matching."},
		"!9\r\nERR a\r\nbc\r\n":      {Kind: Failed, Text: "a\r\nbc"},
	} {
		in := bufio.NewReader(io.MultiReader(strings.NewReader(wire), strings.NewReader(":7\r\n")))
		got, err := Read(in)
		require.NoError(t, err, "%q", wire)
		require.Equal(t, want, got, "%q", wire)
		got, err = Read(in)
		require.NoError(t, err)
		require.Equal(t, Reply{Kind: Number, Number: 7}, got, "the reply after %q", wire)
	}
}

func TestWhatIsNotAReplyOfOneValueIsAnError(t *testing.T) {
	for _, wire := range []string{"\r\n", "*1\r\n:1\r\n", ">1\r\n", "+OK\n", ":x\r\n", "$x\r\n", "$-2\r\n", "$99999999999\r\n", "$2\r\nabcd\r\n", "=-1\r\n", strings.Repeat("+", 5000) + "\r\n"} {
		_, err := Read(bufio.NewReader(strings.NewReader(wire)))
		require.ErrorIs(t, err, ErrProtocol, "%q", wire)
	}
}

func TestCutReplyIsTheReadersError(t *testing.T) {
	for _, wire := range []string{"", "+", "+OK\r", "$3\r\nab", "$3\r\nabc\r", ":12"} {
		_, err := Read(bufio.NewReader(strings.NewReader(wire)))
		require.Error(t, err, "%q", wire)
		require.NotErrorIs(t, err, ErrProtocol, "%q", wire)
	}
}

func TestListsAreFlatAndOneReplyIsAListOfOne(t *testing.T) {
	for wire, want := range map[string][]Reply{
		"*2\r\n$2\r\n17\r\n:5\r\n":  {{Kind: Text, Text: "17"}, {Kind: Number, Number: 5}},
		"*3\r\n:1\r\n+a\r\n$-1\r\n": {{Kind: Number, Number: 1}, {Kind: Text, Text: "a"}, {}},
		"*0\r\n":                    {},
		"+OK\r\n":                   {{Kind: Text, Text: "OK"}},
		"-NOPERM no\r\n":            {{Kind: Failed, Text: "NOPERM no"}},
	} {
		in := bufio.NewReader(strings.NewReader(wire + ":7\r\n"))
		got, err := ReadList(in)
		require.NoError(t, err, "%q", wire)
		require.Equal(t, want, got, "%q", wire)
		next, err := Read(in)
		require.NoError(t, err)
		require.Equal(t, Reply{Kind: Number, Number: 7}, next, "the reply after %q", wire)
	}
	for _, wire := range []string{"*x\r\n", "*-1\r\n", "*99999999\r\n", "*1\r\n*1\r\n:1\r\n", "HTTP/1.1\r\n"} {
		_, err := ReadList(bufio.NewReader(strings.NewReader(wire)))
		require.ErrorIs(t, err, ErrProtocol, "%q", wire)
	}
	for _, wire := range []string{"", "*2\r\n:1\r\n", "*2"} {
		_, err := ReadList(bufio.NewReader(strings.NewReader(wire)))
		require.Error(t, err, "%q", wire)
		require.NotErrorIs(t, err, ErrProtocol, "%q", wire)
	}
}

// What servers write of a command that they do not know: from Redis 7 on, up to Redis 6, and without arguments.
var unknownCommands = map[string]string{
	"ERR unknown command 'DELEX', with args beginning with: 'name' 'IFEQ' 'token' ":                    "unknown command 'DELEX'",
	"ERR unknown command `DELEX`, with args beginning with: `name`, `IFEQ`, `token`, ":                 "unknown command `DELEX`",
	"ERR unknown command 'DELEX', with args beginning with: ":                                          "unknown command 'DELEX'",
	"ERR unknown command 'DELEX'":                                                                      "unknown command 'DELEX'",
	"ERR in a script: unknown command 'DELEX', with args beginning with: 'token' , on @user_script:1.": "in a script: unknown command 'DELEX'",
	"NOPERM No permissions to access the 'name' key":                                                   "NOPERM No permissions to access the 'name' key",
}

func TestErrorsAreReadWithoutTheArgumentsOfAnUnknownCommand(t *testing.T) {
	for text, want := range unknownCommands {
		for _, wire := range []string{fmt.Sprintf("-%s\r\n", text), fmt.Sprintf("!%d\r\n%s\r\n", len(text), text)} {
			got, err := Read(bufio.NewReader(strings.NewReader(wire)))
			require.NoError(t, err, "%q", wire)
			require.Equal(t, Reply{Kind: Failed, Text: want}, got, "%q", wire)
			list, err := ReadList(bufio.NewReader(strings.NewReader("*1\r\n" + wire)))
			require.NoError(t, err, "%q", wire)
			require.Equal(t, []Reply{got}, list, "%q", wire)
		}
		bulk, err := Read(bufio.NewReader(strings.NewReader(fmt.Sprintf("$%d\r\n%s\r\n", len(text), text))))
		require.NoError(t, err)
		require.Equal(t, Reply{Kind: Text, Text: text}, bulk, "no error")
	}
}

func TestErrorsOfAClientLibraryLoseTheArgumentsOfAnUnknownCommand(t *testing.T) {
	require.NoError(t, WithoutArguments(nil))
	require.Equal(t, io.EOF, WithoutArguments(io.EOF))
	for text, want := range unknownCommands {
		require.EqualError(t, WithoutArguments(errors.New(strings.TrimPrefix(text, "ERR "))), want)
	}
	err := WithoutArguments(fmt.Errorf("AUTH: %w", errors.New("unknown command 'AUTH', with args beginning with: 'secret'")))
	require.Equal(t, Error("AUTH: unknown command 'AUTH'"), err, "nothing is left to be unwrapped")
}

func FuzzRead(f *testing.F) {
	for text := range unknownCommands {
		f.Add("-" + text + "\r\n")
	}
	f.Add("$5\r\na\r\nbc\r\n")
	f.Add("!9\r\nERR a\r\nbc\r\n")
	f.Add("*2\r\n:1\r\n+a\r\n")
	f.Fuzz(func(t *testing.T, wire string) {
		in := bufio.NewReader(strings.NewReader(wire))
		for {
			list, err := ReadList(in)
			if err != nil {
				return // every input ends, in an error, and none panics
			}
			for _, reply := range list {
				if reply.Kind == Failed {
					require.NotContains(t, reply.Text, ", with args beginning with:")
				}
			}
		}
	})
}

// What a length announces is not allocated before it comes.
func TestMemoryIsTakenForWhatHasCome(t *testing.T) {
	in := bufio.NewReader(nil)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range 10 {
		in.Reset(strings.NewReader("$16000000\r\nabc"))
		_, err := Read(in)
		require.ErrorIs(t, err, io.EOF)
	}
	runtime.ReadMemStats(&after)
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(1<<20))
}

func TestRepliesTogetherAreBounded(t *testing.T) {
	one := fmt.Sprintf("$%d\r\n%s\r\n", longest/2, strings.Repeat("x", longest/2))
	list, err := ReadAll(bufio.NewReader(strings.NewReader(one+one+":1\r\n")), 3, nil)
	require.NoError(t, err)
	require.Len(t, list, 3)
	_, err = ReadAll(bufio.NewReader(strings.NewReader(one+one+"+1\r\n")), 3, nil)
	require.ErrorIs(t, err, ErrProtocol)
	_, err = ReadList(bufio.NewReader(strings.NewReader("*3\r\n" + one + one + one)))
	require.ErrorIs(t, err, ErrProtocol)
}

func TestTextsOfErrorsAreBounded(t *testing.T) {
	for _, wire := range []string{"-" + strings.Repeat("x", 3000) + "\r\n", "!3000\r\n" + strings.Repeat("x", 3000) + "\r\n"} {
		got, err := Read(bufio.NewReader(strings.NewReader(wire)))
		require.NoError(t, err)
		require.Len(t, got.Text, longestError)
	}
	_, err := Read(bufio.NewReader(strings.NewReader(strings.Repeat("x", 3000) + "\r\n")))
	require.ErrorIs(t, err, ErrProtocol)
	require.Less(t, len(err.Error()), 200)
}

// What servers before Redis 7 write of an error in a script: of redis.call, also where the server refuses a command by itself, and of
// redis.pcall.
func TestErrorOfACommandInAScriptHasItsClass(t *testing.T) {
	for text, want := range map[string]string{
		"ERR Error running script (call to f_bc93df30): @user_script:5: WRONGTYPE Operation against a key":           "WRONGTYPE Operation against a key",
		"ERR Error running script (call to f_bc93df30): @user_script:5: @user_script: 5: -READONLY You can't write.": "READONLY You can't write.",
		"@user_script: 22: -OOM command not allowed":                                                                 "OOM command not allowed",
		"WRONGTYPE Operation against a key script: bc93df30, on @user_script:5.":                                     "WRONGTYPE Operation against a key script: bc93df30, on @user_script:5.",
	} {
		require.EqualError(t, ErrorOf(text), want)
	}
}
