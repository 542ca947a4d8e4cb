package conformance

import (
	"crypto/sha256"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/replication/wire"
)

var frozenUpdate = flag.Bool("frozen.update", false, "freeze vectors that were added")

const (
	repository = "../../.."
	frozenPath = vectorsAt + "/frozen.txt" // a line with the protocol's version, then a frozenVectors a line
)

// frozenVectors are the first bytes of a file, from the root of the repository. They never change
// while the protocol has its version; what was added behind them is frozen later.
type frozenVectors struct {
	path  string
	bytes int
	sum   string
}

func (f frozenVectors) String() string { return fmt.Sprintf("%s %7d %s", f.sum, f.bytes, f.path) }

func freeze(path string, text []byte) frozenVectors {
	return frozenVectors{path, len(text), fmt.Sprintf("%x", sha256.Sum256(text))}
}

// check returns an error if text does not begin with the frozen bytes.
func (f frozenVectors) check(text []byte) error {
	if len(text) >= f.bytes && freeze(f.path, text[:f.bytes]) == f {
		return nil
	}
	return fmt.Errorf(`%s: its first %d bytes are no longer the frozen vectors of protocol %d.
Clients in the field pass these vectors, and must continue to. If the protocol stays as it is, or changes additively
(PROTOCOL.md, section 14), restore them and add cases at the end of the file or in a file of their own. Any other change
needs another protocol number: raise wire.Version, delete frozen.txt, and run this test with -frozen.update`, f.path, f.bytes, wire.Version)
}

// frozenFiles returns the paths of all vectors, and of what they are read with.
func frozenFiles(t *testing.T) (paths []string) {
	for _, pattern := range []string{
		"replication/wire/testdata/vectors/*.jsonl", "replication/wire/testdata/vectors/*.tables", "internal/rowcodec/default.tables",
		"field/testdata/*.jsonl", "world/motion/testdata/*.jsonl",
	} {
		files := must.Get(filepath.Glob(filepath.Join(repository, pattern)))
		require.NotEmpty(t, files, pattern)
		for _, file := range files {
			path := must.Get(filepath.Rel(repository, file))
			paths = append(paths, filepath.ToSlash(path))
		}
	}
	slices.Sort(paths)
	return paths
}

func readFrozen(t *testing.T) (all []frozenVectors) {
	head, rest, _ := strings.Cut(string(must.Get(os.ReadFile(frozenPath))), "\n")
	require.Equal(t, fmt.Sprintf("protocol %d", wire.Version), head, "another version has other vectors: delete %s and run this test with -frozen.update", frozenPath)
	for line := range strings.Lines(rest) {
		var f frozenVectors
		must.Get(fmt.Sscanf(line, "%s %d %s\n", &f.sum, &f.bytes, &f.path))
		all = append(all, f)
	}
	return all
}

// The vectors of a version of the protocol stay as they are, and new ones are frozen too.
func TestVectorsAreFrozen(t *testing.T) {
	var frozen []frozenVectors
	if _, err := os.Stat(frozenPath); err == nil || !*frozenUpdate {
		frozen = readFrozen(t)
	}
	for _, f := range frozen {
		text, err := os.ReadFile(filepath.Join(repository, f.path))
		require.NoError(t, err, "%s belongs to the frozen vectors: restore it", f.path)
		require.NoError(t, f.check(text))
	}
	var all strings.Builder
	fmt.Fprintf(&all, "protocol %d\n", wire.Version)
	for _, path := range frozenFiles(t) {
		fmt.Fprintln(&all, freeze(path, must.Get(os.ReadFile(filepath.Join(repository, path)))))
	}
	if *frozenUpdate {
		require.NoError(t, os.WriteFile(frozenPath, []byte(all.String()), 0o644))
	}
	require.Equal(t, all.String(), string(must.Get(os.ReadFile(frozenPath))), "vectors were added: freeze them with go test ./replication/wire/conformance -run Frozen -frozen.update")
}

func TestFrozenVectors(t *testing.T) {
	f := freeze("a.jsonl", []byte("one\ntwo\n"))
	require.NoError(t, f.check([]byte("one\ntwo\n")))
	require.NoError(t, f.check([]byte("one\ntwo\nthree\n")), "cases may be added")
	for _, changed := range []string{"", "one\n", "one\ntwO\n", "two\none\n", "zero\none\ntwo\n"} {
		require.ErrorContains(t, f.check([]byte(changed)), "a.jsonl: its first 8 bytes are no longer the frozen vectors")
	}
}
