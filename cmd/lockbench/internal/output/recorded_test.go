package output_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"muxlock/cmd/lockbench/internal/output"
)

// testdata/result.json is of a real run with five local masters; testdata/README
// tells the command.
func recordedText(t *testing.T) string { return read(t, "testdata/result.json") }

func recorded(t *testing.T) output.Document {
	doc, err := output.Read(strings.NewReader(recordedText(t)))
	require.NoError(t, err)
	return *doc
}

// golden compares with a file of testdata; -update rewrites it.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(got), 0o644))
	}
	require.Equal(t, read(t, path), got, "go test -update makes it anew")
}

func TestEveryFormatOfARecordedResultStaysAsItIs(t *testing.T) {
	caveats := map[string]string{"setnx": "is one master"}
	for name, write := range map[string]func(*bytes.Buffer, output.Document) error{
		"run.txt":       func(b *bytes.Buffer, d output.Document) error { return output.Run(b, d, caveats) },
		"compare.txt":   func(b *bytes.Buffer, d output.Document) error { return output.Compare(b, d, caveats) },
		"result.csv":    func(b *bytes.Buffer, d output.Document) error { return output.CSV(b, d) },
		"result.ndjson": func(b *bytes.Buffer, d output.Document) error { return output.NDJSON(b, d) },
	} {
		var b bytes.Buffer
		require.NoError(t, write(&b, recorded(t)))
		golden(t, name, b.String())
	}
}

func TestARecordedResultIsWrittenAsItWasRead(t *testing.T) {
	var b bytes.Buffer
	require.NoError(t, output.JSON(&b, recorded(t)))
	require.JSONEq(t, recordedText(t), b.String(), "nothing of it is lost")
}
