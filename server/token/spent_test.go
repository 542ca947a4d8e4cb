package token

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/racetest"
)

// keeping returns a Verifier that keeps used tokens in a file.
func keeping(t testing.TB, path string, now time.Time) *Verifier {
	_, v := pair()
	require.NoError(t, v.KeepSpent(path, now))
	t.Cleanup(func() { _ = v.Close() })
	return v
}

// crashed returns a copy of the file as a server killed now would leave it.
func crashed(t testing.TB, path string) string {
	return spentOf(t, textOf(path))
}

func textOf(path string) []byte {
	return must.Get(os.ReadFile(path))
}

func spentOf(t testing.TB, text []byte) string {
	path := filepath.Join(t.TempDir(), "spent")
	require.NoError(t, os.WriteFile(path, text, 0o600))
	return path
}

// K3: a used token stays used after any crash until it has expired.
func TestSpentSurvivesCrashes(t *testing.T) {
	issuer, first := pair()
	path := filepath.Join(t.TempDir(), "spent")
	require.NoError(t, first.KeepSpent(path, noon))
	var tokens [][]byte
	for i := range 3 {
		tokens = append(tokens, issue(t, issuer, "alice"))
		must.Get(first.Verify(tokens[i], noon))
		next := keeping(t, crashed(t, path), noon.Add(59*time.Second))
		next.keys.Store(first.keys.Load())
		for _, text := range tokens {
			require.ErrorIs(t, must.Fail(next.Verify(text, noon.Add(59*time.Second))), ErrUsed)
		}
	}
	require.NoError(t, first.Close())
	next := keeping(t, path, noon.Add(time.Minute))
	require.Empty(t, next.taken, "all have expired")
	require.Equal(t, spentHeader, string(must.Get(os.ReadFile(path))))
}

// A server that is killed during a rewrite leaves a temporary file, which the next server
// removes.
func TestSpentLeavesNothing(t *testing.T) {
	_, v := pair()
	dir := t.TempDir()
	path, left := filepath.Join(dir, "spent"), filepath.Join(dir, "spent.worldd-0123456789abcdef.tmp")
	require.NoError(t, os.WriteFile(left, []byte("half"), 0o600))
	require.NoError(t, v.KeepSpent(path, noon))
	require.NoFileExists(t, left)
	require.NoError(t, v.Close())
}

// Two servers cannot share one file: each would accept the other's tokens.
func TestSpentIsOneServers(t *testing.T) {
	path := filepath.Join(t.TempDir(), "spent")
	first := keeping(t, path, noon)
	_, second := pair()
	require.ErrorContains(t, second.KeepSpent(path, noon), "another server has the file of used tokens "+path)
	require.NoError(t, second.Close(), "it has no file")
	require.NoError(t, first.Close())
	require.NoError(t, second.KeepSpent(path, noon))
	require.NoError(t, second.Close())
}

// someSpent returns a file with a few tokens.
func someSpent(t testing.TB) (text []byte, tokens []string) {
	path := filepath.Join(t.TempDir(), "spent")
	v := keeping(t, path, noon)
	for i := range 4 {
		tokens = append(tokens, fmt.Sprint("token ", i))
		require.NoError(t, v.take(tokens[i], noon.Add(time.Minute), noon))
	}
	text = must.Get(os.ReadFile(path))
	require.Len(t, text, len(spentHeader)+4*spentLineLength)
	return text, tokens
}

// Every damaged byte, missing line and reordered line is found. The error names the file and
// the line.
func TestSpentDamage(t *testing.T) {
	racetest.SkipSequential(t)
	text, _ := someSpent(t)
	refused := func(text []byte, line int, what string) {
		t.Helper()
		_, v := pair()
		path := spentOf(t, text)
		require.ErrorContains(t, v.KeepSpent(path, noon), fmt.Sprintf("%s:%d: ", path, line), what)
		require.FileExists(t, path)
		require.Equal(t, text, must.Get(os.ReadFile(path)), "the file is unchanged")
	}
	for i := range text {
		line := 1
		if i >= len(spentHeader) {
			line = 2 + (i-len(spentHeader))/spentLineLength
		}
		for _, flip := range []byte{1, 0x20, 0x80} {
			bad := bytes.Clone(text)
			bad[i] ^= flip
			refused(bad, line, fmt.Sprintf("byte %d", i))
		}
	}
	lines := bytes.SplitAfter(text, []byte("\n"))
	join := func(order ...int) (b []byte) {
		for _, i := range order {
			b = append(b, lines[i]...)
		}
		return b
	}
	refused(join(0, 2, 3, 4), 2, "a line is missing")
	refused(join(0, 1, 3, 2, 4), 3, "two lines are exchanged")
	refused(join(0, 1, 1, 2, 3, 4), 3, "a duplicate line")
	refused([]byte{}, 1, "an empty file")
}

// Only a line that a crash truncated is ignored: it was never synced.
func TestSpentIsTorn(t *testing.T) {
	text, tokens := someSpent(t)
	for cut := 1; cut < spentLineLength; cut++ {
		v := keeping(t, spentOf(t, text[:len(text)-cut]), noon)
		for i, token := range tokens {
			err := v.take(token, noon.Add(time.Minute), noon)
			if i == len(tokens)-1 {
				require.NoError(t, err)
			} else {
				require.ErrorIs(t, err, ErrUsed)
			}
		}
	}
}

func TestSpentIsRegular(t *testing.T) {
	folder := t.TempDir()
	long := filepath.Join(folder, "long")
	require.NoError(t, os.WriteFile(long, nil, 0o600))
	require.NoError(t, os.Truncate(long, int64(maxSpentFile)+1))
	for path, want := range map[string]string{
		folder: "not a regular file", long: "file too long",
		filepath.Join(folder, "none", "spent"): "no such file",
	} {
		_, v := pair()
		err := v.KeepSpent(path, noon)
		require.ErrorContains(t, err, want)
		require.ErrorContains(t, err, path)
	}
}

// The file's size depends on the live tokens, not on all used ones.
func TestSpentFileIsBounded(t *testing.T) {
	const at, batches = 500, 60 // tokens per second; only the last second's are live
	path := filepath.Join(t.TempDir(), "spent")
	v := keeping(t, path, noon)
	now, rewritten := noon, 0
	for n := range batches {
		var batch []spent
		for i := range at {
			s := spent{hashJTI(fmt.Sprint(n, i)), now.Add(time.Second)}
			require.NoError(t, v.remember(s.id, s.until, now))
			batch = append(batch, s)
		}
		before := v.file.lines
		require.NoError(t, v.file.write(batch))
		if v.file.lines < before {
			rewritten++
		}
		info := must.Get(os.Stat(path))
		require.EqualValues(t, len(spentHeader)+v.file.lines*spentLineLength, info.Size())
		require.LessOrEqual(t, v.file.lines, minRewrite)
		now = now.Add(time.Minute)
	}
	require.Equal(t, batches*at/minRewrite, rewritten)
	must.Get(parseSpent(path, textOf(path)))
}

// A token that cannot be recorded is not used, and is accepted once the disk works again.
func TestSpentDiskFails(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "disk")
	require.NoError(t, os.Mkdir(folder, 0o700))
	path := filepath.Join(folder, "spent")
	v := keeping(t, path, noon)
	take := func(token string) error { return v.take(token, noon.Add(time.Minute), noon) }
	require.NoError(t, take("a"))
	require.NoError(t, v.file.file.Close()) // writing fails
	require.ErrorIs(t, take("b"), ErrUnrecorded)
	away := folder + " is away"
	require.NoError(t, os.Rename(folder, away))
	require.ErrorIs(t, take("b"), ErrUnrecorded, "and so does rewriting")
	require.ErrorIs(t, take("a"), ErrUsed)
	require.NoError(t, os.Rename(away, folder))
	require.NoError(t, take("b"))
	require.NoError(t, take("c"))
	next := keeping(t, crashed(t, path), noon)
	for _, token := range []string{"a", "b", "c"} {
		require.ErrorIs(t, next.take(token, noon.Add(time.Minute), noon), ErrUsed)
	}
}

// Among concurrent calls each token is accepted once, and the file has all tokens.
func TestSpentAtOnce(t *testing.T) {
	const tokens, attempts = 50, 4
	path := filepath.Join(t.TempDir(), "spent")
	v := keeping(t, path, noon)
	var taken atomic.Int64
	var all sync.WaitGroup
	for i := range tokens * attempts {
		all.Go(func() {
			switch err := v.take(fmt.Sprint(i%tokens), noon.Add(time.Minute), noon); {
			case err == nil:
				taken.Add(1)
			case !errors.Is(err, ErrUsed):
				t.Error(err)
			}
		})
	}
	all.Wait()
	require.EqualValues(t, tokens, taken.Load())
	require.Len(t, keeping(t, crashed(t, path), noon).taken, tokens)
}

func FuzzParseSpent(f *testing.F) {
	text, _ := someSpent(f)
	f.Add(text)
	f.Add(text[:len(text)-9])
	f.Fuzz(func(t *testing.T, text []byte) {
		all, err := parseSpent("file", text)
		if err != nil {
			return
		}
		b, sum := []byte(spentHeader), checksum([]byte(spentHeader))
		for _, s := range all {
			b, sum = appendSpent(b, sum, s)
		}
		require.True(t, bytes.HasPrefix(text, b), "a parsed file is written back identically")
		require.Less(t, len(text)-len(b), spentLineLength)
	})
}
