package result_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"muxlock/cmd/lockbench/internal/result"
)

func read(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(name)
	require.NoError(t, err)
	return string(b)
}

// begun creates a file and writes a text into it.
func begun(t *testing.T, name, text string) *result.File {
	t.Helper()
	f, err := result.Create(name)
	require.NoError(t, err)
	_, err = f.WriteString(text)
	require.NoError(t, err)
	return f
}

func TestAFileHasItsNameOnlyWhenItIsWhole(t *testing.T) {
	name := filepath.Join(t.TempDir(), "r.json")
	require.NoError(t, os.WriteFile(name, []byte("earlier"), 0o640))
	f := begun(t, name, "half")
	require.Equal(t, "earlier", read(t, name))
	require.Equal(t, "half", read(t, name+".partial"))
	f.Abandon()
	require.Equal(t, "earlier", read(t, name))
	require.NoFileExists(t, name+".partial")

	f = begun(t, name, "new")
	require.NoError(t, f.Commit())
	f.Abandon()
	require.Equal(t, "new", read(t, name))
	require.NoFileExists(t, name+".partial")
	info, err := os.Stat(name)
	require.NoError(t, err)
	require.EqualValues(t, 0o640, info.Mode().Perm(), "as the earlier file")
}

func TestALinkStaysALink(t *testing.T) {
	dir := t.TempDir()
	target, link := filepath.Join(dir, "target"), filepath.Join(dir, "link")
	require.NoError(t, os.WriteFile(target, nil, 0o644))
	require.NoError(t, os.Symlink(target, link))
	require.NoError(t, begun(t, link, "x").Commit())
	require.Equal(t, "x", read(t, target))
	info, err := os.Lstat(link)
	require.NoError(t, err)
	require.Equal(t, os.ModeSymlink, info.Mode().Type())
}

func TestWhatCannotBeWrittenIsFoundOutBefore(t *testing.T) {
	dir := t.TempDir()
	_, err := result.Create(filepath.Join(dir, "no", "such"))
	require.Error(t, err)
	_, err = result.Create(dir)
	require.Error(t, err, "a folder")
	if os.Geteuid() != 0 { // root may write everything
		locked := filepath.Join(dir, "locked")
		require.NoError(t, os.WriteFile(locked, nil, 0o444))
		_, err = result.Create(locked)
		require.Error(t, err)
	}
}

func TestADeviceIsWrittenAsItIs(t *testing.T) {
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Skip(err)
	}
	f, err := result.Create("/dev/full")
	require.NoError(t, err)
	_, err = f.WriteString("x")
	require.ErrorContains(t, err, "no space")
	f.Abandon()
	require.NoFileExists(t, "/dev/full.partial")
	require.FileExists(t, "/dev/full")
}

func TestAFileThatCannotGetItsNameLeavesNothing(t *testing.T) {
	name := filepath.Join(t.TempDir(), "r.json")
	f := begun(t, name, "")
	require.NoError(t, os.Mkdir(name, 0o755))
	require.ErrorContains(t, f.Commit(), name)
	f.Abandon()
	require.NoFileExists(t, name+".partial")
}
