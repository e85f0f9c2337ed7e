package oneline

import (
	"errors"
	"io"
	"io/fs"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestJoinedErrorsAreOneLineAndAreAllFound(t *testing.T) {
	path := &fs.PathError{Op: "open", Path: "a", Err: fs.ErrNotExist}
	err := Join(nil, errors.Join(io.EOF, io.ErrNoProgress), nil, path)
	require.EqualError(t, err, "EOF; multiple Read calls return no data or error; open a: file does not exist")
	for _, part := range []error{io.EOF, io.ErrNoProgress, fs.ErrNotExist} {
		require.ErrorIs(t, err, part)
	}
	var found *fs.PathError
	require.ErrorAs(t, err, &found)
	require.NotErrorIs(t, err, io.ErrShortWrite)
	require.True(t, err == Join(err), "callers may compare an error with the cause of their ctx")
	require.ErrorIs(t, Join(io.ErrShortWrite, err), err)
}

func TestJoinOfOneErrorIsThatErrorAndOfNoneIsNil(t *testing.T) {
	require.Equal(t, io.EOF, Join(nil, io.EOF))
	require.NoError(t, Join())
	require.NoError(t, Join(nil, nil))
}
