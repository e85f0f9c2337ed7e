package conn

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"muxlock/internal/resp"
)

// sealed returns what carries so many of each request, with names of their own.
func sealed(d Dialect, set string, each int, requests ...Request) *Load {
	l := &Load{Dialect: d}
	for _, q := range requests {
		for range each {
			q.Name = fmt.Sprint("name", len(l.Entries))
			l.Entries = append(l.Entries, q)
		}
	}
	l.Seal(set)
	return l
}

func TestRequestsOfARunAreAlike(t *testing.T) {
	const short, long = time.Second, time.Minute
	for _, c := range []struct {
		set      string
		requests []Request
		runs     []string
	}{
		{"", []Request{{Op: Extend, TTL: short}, {Op: Extend, TTL: long}}, []string{"1000", "8", "60000", "8"}},
		{"set", []Request{{Op: Extend, TTL: short}, {Op: Extend, TTL: long}}, []string{"1000", "8", "60000", "8"}},
		{"set", []Request{{Op: Acquire, TTL: short}, {Op: Acquire, TTL: long}}, []string{"1000", "8", "60000", "8"}},
		{"", []Request{{Op: Release}, {Op: Release, Shared: true}}, []string{"-", "8", "s-", "8"}},
		{"", []Request{{Op: Release, Shared: true, TTL: short}, {Op: Release, Shared: true, TTL: long}}, []string{"s-", "16"}},
		{
			"", []Request{{Op: Acquire, Shared: true, TTL: short}, {Op: Acquire, Shared: true, TTL: long}, {Op: Extend, Shared: true, TTL: long}, {Op: Intend, TTL: short}, {Op: Intend}},
			[]string{"1000", "8", "60000", "8", "+60000", "8", "!1000", "8", "!0", "8"},
		},
	} {
		l := sealed(0, c.set, 8, c.requests...)
		require.Len(t, l.Commands, 1, "%+v", c.requests)
		var end []byte
		for _, word := range c.runs {
			end = resp.AppendBulk(end, word)
		}
		text := l.Batch.Bytes()
		require.Equal(t, string(end), string(text[len(text)-len(end):]), "%+v", c.requests)
	}
}

func TestOneMSETEXHasOneLease(t *testing.T) {
	l := sealed(Msetex, "", 8, Request{Op: Acquire, TTL: time.Second}, Request{Op: Acquire, TTL: time.Minute})
	require.Equal(t, []Command{{8, KindMsetex}, {16, KindMsetex}}, l.Commands)
}

func TestAReleaseByACommandOfItsOwnIsNotFolded(t *testing.T) {
	require.Len(t, sealed(Delex, "", 8, Request{Op: Release}).Commands, 8)
	require.Equal(t, []Command{{8, KindBatch}}, sealed(Delex, "", 8, Request{Op: Extend, TTL: time.Second}).Commands)
}
