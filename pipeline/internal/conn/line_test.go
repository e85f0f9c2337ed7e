package conn

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"muxlock/internal/quorum"
	"muxlock/internal/resp"
)

func TestAnswersToAWait(t *testing.T) {
	q := &Request{Op: Wait, TTL: time.Minute, Line: &Line{Version: 7}}
	for text, want := range map[string]struct {
		Answer
		vote quorum.Vote
	}{
		"g 12 a b":         {Answer{Kind: Granted, Version: 7, Lease: time.Minute, Fence: 12, Next: [2]string{"a", "b"}}, quorum.Granted},
		"g 0 - -":          {Answer{Kind: Granted, Version: 7, Lease: time.Minute}, quorum.Granted},
		"m 1500":           {Answer{Kind: Has, Version: 7, Lease: 1500 * time.Millisecond}, quorum.Granted},
		"m -1":             {Answer{Kind: Has, Version: 7}, quorum.Granted},
		"q 3 500 a b c":    {Answer{Kind: InLine, Version: 7, Rank: 3, Value: "a b c"}, quorum.Refused},
		"q 0 -2 ":          {Answer{Kind: InLine, Version: 7}, quorum.Refused},
		"x":                {Answer{Kind: Missing, Version: 7}, quorum.Refused},
		"":                 {},
		"g":                {},
		"g 1 a":            {},
		"g -1 a b":         {},
		"m":                {},
		"m 99999999999999": {},
		"q 0 1":            {},
		"x 1":              {},
		"o":                {},
		"gg 1 a b":         {},
	} {
		a, vote, err := WaitAnswer(q, resp.Reply{Kind: resp.Text, Text: text})
		require.Equal(t, want.vote, vote, text)
		require.Equal(t, want.vote == quorum.Unknown, err != nil, text)
		if err == nil {
			require.Equal(t, want.Answer, a, text)
		}
	}
	_, vote, err := WaitAnswer(q, resp.Reply{Kind: resp.Number, Number: 1, Text: ""})
	require.ErrorIs(t, err, ErrUnexpected)
	require.Equal(t, quorum.Unknown, vote)
	_, _, err = WaitAnswer(q, resp.Reply{Kind: resp.Failed, Text: "OOM"})
	require.EqualError(t, err, "OOM")
}

func TestMessagesToAToken(t *testing.T) {
	for text, want := range map[string]Answer{
		"g t 3 2000 17 word a b":               {Kind: Granted, Version: 3, Lease: 2 * time.Second, Fence: 17, Word: "word", Next: [2]string{"a", "b"}},
		"g t 3 2000 17 - - - the mark":         {Kind: Granted, Version: 3, Lease: 2 * time.Second, Fence: 17, Mark: "the mark"},
		"o t":                                  {Kind: Opened},
		"f t":                                  {Kind: Free},
		"":                                     {},
		"g":                                    {},
		"g t":                                  {},
		"g t 3 2000 17 word a":                 {},
		"g t x 2000 17 word a b":               {},
		"g t 3 x 17 word a b":                  {},
		"g t 3 2000 -1 word a b":               {},
		"g t 99999999999 1 1 - - -":            {},
		"o ":                                   {},
		"o t more":                             {},
		"q t 0 1 v":                            {},
		"f " + strings.Repeat("t", MaxValue+1): {},
	} {
		token, a, ok := PushedAnswer(text)
		require.Equal(t, want.Kind != 0, ok, text)
		if ok {
			require.Equal(t, "t", token)
			require.Equal(t, want, a, text)
		}
	}
}
