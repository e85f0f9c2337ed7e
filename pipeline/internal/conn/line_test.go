package conn

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"muxlock/internal/limits"
	"muxlock/internal/line"
	"muxlock/internal/quorum"
	"muxlock/internal/resp"
)

func TestAnswersToAWait(t *testing.T) {
	q := &Request{Op: Wait, TTL: time.Minute, Line: &Line{Request: line.Request{Version: 7}}}
	for text, want := range map[string]struct {
		Answer
		vote quorum.Vote
	}{
		"g\n12\na\nb":       {Answer{Kind: line.Granted, Version: 7, Lease: time.Minute, Fence: 12, Next: [2]string{"a", "b"}}, quorum.Granted},
		"g\n0\n-\n-":        {Answer{Kind: line.Granted, Version: 7, Lease: time.Minute}, quorum.Granted},
		"m\n1500":           {Answer{Kind: line.Has, Version: 7, Lease: 1500 * time.Millisecond}, quorum.Granted},
		"m\n-1":             {Answer{Kind: line.Has, Version: 7}, quorum.Granted},
		"q\n3\na b\nc":      {Answer{Kind: line.InLine, Version: 7, Rank: 3, Value: "a b\nc"}, quorum.Refused},
		"q\n0\n":            {Answer{Kind: line.InLine, Version: 7}, quorum.Refused},
		"x":                 {Answer{Kind: line.Missing, Version: 7}, quorum.Refused},
		"":                  {},
		"g":                 {},
		"g\n1\na":           {},
		"g\n-1\na\nb":       {},
		"m":                 {},
		"m\n99999999999999": {},
		"q\n0":              {},
		"x\n1":              {},
		"o":                 {},
		"gg 1 a b":          {},
	} {
		a, vote, err := waitAnswer(q, resp.Reply{Kind: resp.Text, Text: text})
		require.Equal(t, want.vote, vote, text)
		require.Equal(t, want.vote == quorum.Unknown, err != nil, text)
		if err == nil {
			require.Equal(t, want.Answer, a, text)
		}
	}
	_, vote, err := waitAnswer(q, resp.Reply{Kind: resp.Number, Number: 1, Text: ""})
	require.ErrorIs(t, err, ErrUnexpected)
	require.Equal(t, quorum.Unknown, vote)
}

func TestMessagesToAToken(t *testing.T) {
	for text, want := range map[string]Answer{
		"g\nt\n3\n2000\n17\nword\na\nb":        {Kind: line.Granted, Version: 3, Lease: 2 * time.Second, Fence: 17, Word: "word", Next: [2]string{"a", "b"}},
		"g\nt\n3\n2000\n17\n-\n-\n-\nthe mark": {Kind: line.Granted, Version: 3, Lease: 2 * time.Second, Fence: 17, Mark: "the mark"},
		"o\nt":                                 {Kind: line.Opened},
		"f\nt":                                 {Kind: line.Free},
		"":                                     {},
		"g":                                    {},
		"g\nt":                                 {},
		"g\nt\n3\n2000\n17\nword\na":           {},
		"g\nt\nx\n2000\n17\nword\na\nb":        {},
		"g\nt\n3\nx\n17\nword\na\nb":           {},
		"g\nt\n3\n2000\n-1\nword\na\nb":        {},
		"g\nt\n99999999999\n1\n1\n-\n-\n-":     {},
		"o\n":                                  {},
		"o\nt\nmore":                           {},
		"q\nt\n0\n1\nv":                        {},
		"f\n" + strings.Repeat("t", limits.ValueBytes+1): {},
	} {
		token, a, ok := PushedAnswer(text)
		require.Equal(t, want.Kind != 0, ok, text)
		if ok {
			require.Equal(t, "t", token)
			require.Equal(t, want, a, text)
		}
	}
}
