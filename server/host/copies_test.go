package host

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/server"
	"github.com/worldd/worldd/server/cluster/link"
	"github.com/worldd/worldd/server/imagefile"
)

// A node keeps a copy for another one whole or not at all, and says why not. A head that no node writes is refused.
func TestCopyIsWholeOrRefused(t *testing.T) {
	dir := t.TempDir()
	c := &copies{folder: imagefile.NewSharedFolder(dir)}
	const text = "an image"
	image := server.RoomImage{Epoch: 3, Tick: 7, Bytes: int64(len(text)), Sum: "c5a9b1ea9ee64b53aa1cba2b7a73d9cd9d7a12a3b4b0f49da39fbd7cc2b9a3f0", Nodes: []string{"a"}}
	receive := func(head io.Reader, body string) error {
		return c.receive(context.Background(), "a", io.MultiReader(head, strings.NewReader(body)), io.Discard)
	}
	for _, head := range []string{"", "\n", "{}\n", `{"room":"../x"}` + "\n", strings.Repeat("x", 2*maxCopyHead), string(must.Get(io.ReadAll(headOf("match", server.RoomImage{Sum: "5"}))))} {
		refused := (*link.RefusedError)(nil)
		require.ErrorAs(t, receive(strings.NewReader(head), text), &refused, head)
		_, err := readHead(bufio.NewReaderSize(strings.NewReader(head), maxCopyHead))
		require.ErrorContains(t, err, "not a copy of an image")
	}
	refused := (*link.RefusedError)(nil)
	require.ErrorAs(t, receive(headOf("match/1", image), text), &refused)
	require.Contains(t, refused.Text, imagefile.ErrContent.Error())
	require.Empty(t, must.Get(filepath.Glob(filepath.Join(dir, "match", "1.images", "*"))))
	require.ErrorAs(t, c.serve(context.Background(), "a", headOf("match/1", image), io.Discard), &refused)

	path := filepath.Join(t.TempDir(), "own")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	require.NoError(t, c.folder.Put("match/1", image.Name(), path))
	var got bytes.Buffer
	require.NoError(t, c.serve(context.Background(), "a", headOf("match/1", image), &got))
	require.Equal(t, text, got.String())
	require.NoError(t, receive(headOf("match/1", image), text), "it has the image already")
	require.Contains(t, must.Get(c.folder.Worlds()), "match/1")
	require.NoError(t, c.PruneImages("match/1", &image))
	require.True(t, c.folder.Has("match/1", image.Name()), "it is not older than itself")
	newer := image
	newer.Epoch++
	require.NoError(t, c.PruneImages("match/1", &newer))
	require.Empty(t, must.Get(c.folder.Worlds()))
}
