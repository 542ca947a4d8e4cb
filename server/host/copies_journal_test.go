package host

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/server"
	"github.com/worldd/worldd/server/cluster"
	"github.com/worldd/worldd/server/cluster/link"
	"github.com/worldd/worldd/server/imagefile"
)

// growingJournal is a journal of one segment in a file.
type growingJournal struct {
	server.RoomJournal
	path string
}

func newGrowingJournal(t *testing.T, image server.RoomImage) *growingJournal {
	path := filepath.Join(t.TempDir(), "segment")
	part := imagefile.SegmentSource{SegmentCopy: imagefile.SegmentCopy{Epoch: image.Epoch, Run: 0xa1, Tick: image.Tick}, Path: path}
	return &growingJournal{server.RoomJournal{Room: "match/1", Image: image, Segments: []imagefile.SegmentSource{part}}, path}
}

func (g *growingJournal) grow(t *testing.T, n int) {
	file := must.Get(os.OpenFile(g.path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600))
	random := rand.NewChaCha8([32]byte{byte(n)})
	must.Get(io.CopyN(file, random, int64(n)))
	require.NoError(t, file.Close())
	g.Segments[0].Bytes += int64(n)
}

// A node's journals grow on the nodes that have its images, of which a third node reads them. A node with a full disk, and one that has lost its
// copy, delay nobody.
func TestJournalsGrowOnOtherNodes(t *testing.T) {
	full := t.TempDir()
	store := cluster.NewMemory()
	a, b := newCopyNode(t, store, "a", t.TempDir(), nil), newCopyNode(t, store, "b", t.TempDir(), nil)
	c := newCopyNode(t, store, "c", t.TempDir(), nil)
	isFull := mountSmallDisk(t, full)
	nodes := []string{"a", "b"}
	if isFull {
		newCopyNode(t, store, "f", full, nil)
		nodes = append(nodes, "f")
	}
	a.awaitPeers(t, len(nodes))
	c.awaitPeers(t, len(nodes))
	image, _ := newImage(t, nodes...)
	g := newGrowingJournal(t, image)
	put := func() error { return a.PutJournals(t.Context(), []server.RoomJournal{g.RoomJournal}) }
	require.NoError(t, put(), "it has no bytes yet")
	require.Empty(t, must.Get(c.ReadJournal("match/1", image)))
	var failed error
	awaitCopies := func(why string) {
		want := []imagefile.CopiedSegment{{SegmentCopy: g.Segments[0].SegmentCopy, Content: must.Get(os.ReadFile(g.path))}}
		for _, n := range []*copyNode{b, c} { // c asks b
			require.Eventually(t, func() bool {
				failed = errors.Join(failed, put())
				got, err := n.ReadJournal("match/1", image)
				return err == nil && assert.ObjectsAreEqual(want, got)
			}, soon, time.Millisecond, why)
		}
	}
	for _, n := range []int{1, 70_000, 3 << 20, 5} {
		g.grow(t, n)
		awaitCopies(fmt.Sprintf("%d more bytes", n))
	}
	if isFull {
		require.ErrorContains(t, failed, "node f: ")
		require.ErrorContains(t, failed, "no space left on device")
	}
	require.NoError(t, os.RemoveAll(filepath.Join(b.dir, "match")))
	g.grow(t, 9)
	awaitCopies("b says that it has none")
	newer := image
	newer.Tick++
	require.NoError(t, b.PruneImages("match/1", &newer))
	require.Empty(t, must.Get(b.ReadJournal("match/1", newer)))
}

// A part that no node writes is refused, and changes nothing. One that does not follow what the copy has leaves it as it is.
func TestPartOfAJournalIsRefused(t *testing.T) {
	dir := t.TempDir()
	c := &copies{folder: imagefile.NewSharedFolder(dir)}
	receive := func(body string) (string, error) {
		var answer bytes.Buffer
		err := c.receiveJournals(context.Background(), "a", strings.NewReader(body), &answer)
		return answer.String(), err
	}
	part := func(at, n int, room string) string {
		return fmt.Sprintf(`{"room":%q,"epoch":3,"run":1,"tick":7,"nth":0,"at":%d,"bytes":%d}`+"\n", room, at, n)
	}
	for _, body := range []string{
		"\n", "{}\n", "[]\n", part(0, 4, "match/1") + "abc", part(-1, 1, "match/1") + "a", part(0, -1, "match/1"), part(0, 1, "../x") + "a", part(0, 1, "match/../x") + "a",
		part(0, imagefile.MaxSegmentCopy+1, "match/1"), part(imagefile.MaxSegmentCopy, 1, "match/1"), strings.Repeat("x", 2*maxCopyHead),
		strings.Replace(part(0, 1, "match/1"), `"nth":0`, `"nth":-1`, 1) + "a",
	} {
		refused := (*link.RefusedError)(nil)
		_, err := receive(body)
		require.ErrorAs(t, err, &refused, "%.80q", body)
	}
	require.Empty(t, must.Get(c.folder.Worlds()))
	for _, step := range []struct{ body, answer string }{
		{part(5, 1, "match/1") + "x", "0\n"},
		{part(0, 3, "match/1") + "abc", "3\n"},
		{part(0, 3, "match/1") + "xyz", "3\n"},
		{part(4, 1, "match/1") + "x" + part(3, 1, "match/1") + "d", "3\n4\n"},
	} {
		answer, err := receive(step.body)
		require.NoError(t, err)
		require.Equal(t, step.answer, answer)
	}
	parts := must.Get(c.folder.ReadSegments("match/1", (&server.RoomImage{Epoch: 3, Tick: 7}).IsOld))
	require.Len(t, parts, 1)
	require.Equal(t, "abcd", string(parts[0].Content))
}

// Whatever bytes another node sends, the parts of a journal are bounded, and are what was sent.
func FuzzReadPart(f *testing.F) {
	var b bytes.Buffer
	appendPart(&b, partHead{Room: "match/1", SegmentCopy: imagefile.SegmentCopy{Epoch: 3, Run: 5, Tick: 7}, At: 9}, []byte("frames"))
	f.Add(b.Bytes())
	f.Add([]byte("{}\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		from, left := bufio.NewReaderSize(bytes.NewReader(data), maxCopyHead), len(data)
		for {
			h, content, err := readPart(from)
			if err != nil {
				return
			}
			require.NoError(t, h.check())
			require.EqualValues(t, h.Bytes, len(content))
			left -= len(content)
			require.GreaterOrEqual(t, left, 0)
		}
	})
}
