package engine

import (
	"testing"

	"github.com/stretchr/testify/require"

	"muxlock/internal/testing/await"
	"muxlock/internal/testing/redistest"
	"muxlock/pipeline"
)

// Who stands in line asks for the lock on the way, so an attempt before that would be one too many.
func TestWriterThatMetReadersStandsInLineAtOnceTheNextTime(t *testing.T) {
	masters := redistest.Masters(t, 3)
	e, other := open(t, masters), open(t, masters)
	linesOf(t, e, other)
	intents := func() (n int) {
		for _, m := range masters {
			n += int(redistest.Command(t, m, "EXISTS", pipeline.IntentPrefix+t.Name()).(int64))
		}
		return n
	}
	refused := func() uint64 {
		await.Equal(t, 0, func() any { return intents() })
		reader, before := mustAcquireShared(t, other, t.Name(), 0), e.Stats().Taken
		written := make(chan acquired, 1)
		go func() {
			lock, err := e.Acquire(t.Context(), t.Name(), 0)
			written <- acquired{lock: lock, err: err}
		}()
		await.True(t, func() bool { return intents() >= 2 })
		require.NoError(t, reader.Release(t.Context()))
		require.NoError(t, requireGot(t, written).Release(t.Context()))
		return e.Stats().Taken - before
	}
	require.EqualValues(t, 1, refused())
	require.Zero(t, refused())
}
