package main

import (
	"io"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestLinesAreWrittenInTheirOrderBeforeTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var written strings.Builder
		b := newBacklog(&written)
		defer close(b.due)
		say(b, "%s", "one")
		say(b, "%s", "two")
		b.flush(lastWords)
		require.Equal(t, "muxlock: one\nmuxlock: two\n", written.String())
	})
}

func TestWhatNobodyReadsIsLostAndNotWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		unread, w := io.Pipe() // a write blocks until it is read
		b := newBacklog(w)
		defer close(b.due)
		start := time.Now()
		say(b, "blocks")
		synctest.Wait() // until run is in that write
		for range 2 * mostLines {
			say(b, "waits, or is lost")
		}
		require.Zero(t, time.Since(start))
		b.flush(lastWords)
		require.Equal(t, lastWords, time.Since(start))

		go func() {
			b.flush(time.Hour)
			w.Close()
		}()
		text, err := io.ReadAll(unread)
		require.NoError(t, err)
		lines := slices.Collect(strings.Lines(string(text)))
		require.Equal(t, "muxlock: blocks\n", lines[0])
		require.Len(t, lines, 1+mostLines)
	})
}
