package host

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"go.uber.org/zap"

	"github.com/worldd/worldd/server"
	"github.com/worldd/worldd/server/cluster"
	"github.com/worldd/worldd/server/cluster/link"
	"github.com/worldd/worldd/server/imagefile"
)

const (
	// copyTimeout bounds the transfer of one image, and maxCopyBytes its size.
	copyTimeout  = 20 * time.Second
	maxCopyBytes = 4 << 30
	// putTimeout bounds the transfers of one save to all nodes.
	putTimeout = 2 * copyTimeout
	// maxCopyHead bounds the head of a transfer.
	maxCopyHead = 4 << 10
	// sweepEvery is the interval between searches for copies that no room needs. Copies of rooms that the directory does not know stay for
	// unknownFor: an operator may have to mend the directory.
	sweepEvery = time.Hour
	unknownFor = 7 * 24 * time.Hour
	// repairEvery is the interval between searches for rooms that nobody runs and that lack copies. Nodes that only start again are back
	// within repairAfter.
	repairEvery = time.Minute
	repairAfter = 10 * time.Minute
)

// copyRules bound a transfer between nodes.
var copyRules = link.Rules{MaxBody: maxCopyBytes + maxCopyHead, Within: copyTimeout}

// copies is server.ImageCopies of a node: copies of its rooms' newest images on its disk and on the disks of other nodes.
type copies struct {
	node   *node
	folder *imagefile.SharedFolder
	wanted int // on other nodes
	stop   context.CancelFunc

	directory cluster.Store // for repairs
	// patience is copyTimeout, and less in tests.
	patience time.Duration
	feeds    map[string]*journalFeed // by node; used by PutJournals alone
	lacking  map[string]time.Time    // rooms that nobody runs and that lack copies, and since when; used by sweep alone
}

// copyHead begins a transfer, as a line of JSON. In PutImage the bytes follow, and in GetImage they are the answer.
type copyHead struct {
	Room  string        `json:"room"`
	Image cluster.Image `json:"image"`
}

// keepCopies makes the node keep copies in a folder, which it makes, and serve them to other nodes.
func (n *node) keepCopies(dir string, wanted int) (*copies, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("--image-copies: %w", err)
	}
	c := &copies{node: n, folder: imagefile.NewSharedFolder(dir), wanted: wanted, directory: n.store, patience: copyTimeout, lacking: map[string]time.Time{}}
	n.copies = c
	n.link.HandleStream(link.PutImage, copyRules, c.receive)
	n.link.HandleStream(link.GetImage, copyRules, c.serve)
	n.link.HandleStream(link.PutJournals, journalRules, c.receiveJournals)
	n.link.HandleStream(link.GetJournal, journalRules, c.serveJournal)
	ctx, stop := context.WithCancel(context.Background())
	c.stop = stop
	go c.sweep(ctx)
	return c, nil
}

// PutImage implements server.ImageCopies. Nodes that cannot have a copy are named in the log, and others are tried.
func (c *copies) PutImage(room string, image server.RoomImage, path string) (nodes []string, err error) {
	if err := c.folder.Put(room, image.Name(), path); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), putTimeout)
	defer cancel()
	nodes = c.spread(ctx, room, image, c.candidates(room), c.wanted)
	if len(nodes) < min(c.wanted, len(c.node.Living())) {
		c.node.log.Warn("fewer nodes than wanted have a copy of an image", zap.String("room", room), zap.String("image", image.Name()), zap.Strings("nodes", nodes), zap.Int("wanted", c.wanted))
	}
	return nodes, nil
}

// spread brings copies of an image of the folder to nodes, and returns most of them that have one then.
func (c *copies) spread(ctx context.Context, room string, image server.RoomImage, to []string, most int) (nodes []string) {
	for _, name := range to {
		if len(nodes) == most || ctx.Err() != nil {
			break
		}
		if err := c.send(ctx, name, room, image); err != nil {
			c.node.log.Warn("another node has no copy of an image", zap.String("node", name), zap.String("room", room), zap.Error(err))
			continue
		}
		nodes = append(nodes, name)
	}
	return nodes
}

// candidates returns the other living nodes, in an order that depends on the room: so each node has copies of some rooms, and a room's
// copies stay where they are.
func (c *copies) candidates(room string) (names []string) {
	ranks := map[string]uint64{}
	for _, name := range c.node.Living() {
		if peer, ok := c.node.findPeer(name); ok && peer.Fingerprint != "" {
			h := fnv.New64a()
			_, _ = io.WriteString(h, name+"\x00"+room)
			names, ranks[name] = append(names, name), h.Sum64()
		}
	}
	slices.SortFunc(names, func(a, b string) int { return cmp.Compare(ranks[a], ranks[b]) })
	return names
}

// send brings another node a copy.
func (c *copies) send(ctx context.Context, node, room string, image server.RoomImage) error {
	file, err := c.folder.Open(room, image.Name())
	if err != nil {
		return err
	}
	defer file.Close() // only read
	ctx, cancel := context.WithTimeout(ctx, c.patience)
	defer cancel()
	return c.node.link.Stream(ctx, node, link.PutImage, io.MultiReader(headOf(room, image), file), io.Discard, 0)
}

func headOf(room string, image server.RoomImage) io.Reader {
	head, err := json.Marshal(copyHead{room, cluster.Image(image)})
	if err != nil {
		panic(err) // it has texts and numbers only
	}
	return bytes.NewReader(append(head, '\n'))
}

// readHead reads the head of a transfer, which any node of the cluster may have written. The error is a *link.RefusedError.
func readHead(from *bufio.Reader) (h copyHead, err error) {
	line, err := from.ReadSlice('\n')
	if err == nil {
		err = json.Unmarshal(line, &h)
	}
	if err == nil {
		_, _, err = server.ParseRoomName(h.Room)
	}
	if err == nil {
		err = h.Image.Check()
	}
	if err == nil && h.Image.Bytes > maxCopyBytes {
		err = fmt.Errorf("an image of %d bytes, at most %d", h.Image.Bytes, int64(maxCopyBytes))
	}
	if err != nil {
		return h, &link.RefusedError{Text: fmt.Sprint("not a copy of an image: ", err)}
	}
	return h, nil
}

// receive keeps a copy for another node.
func (c *copies) receive(_ context.Context, _ string, body io.Reader, _ io.Writer) error {
	from := bufio.NewReaderSize(body, maxCopyHead)
	h, err := readHead(from)
	if err != nil {
		return err
	}
	if c.folder.Has(h.Room, h.Image.Name()) {
		_, err := io.Copy(io.Discard, from)
		return err
	}
	if err := c.folder.Receive(h.Room, h.Image.Name(), imagefile.Content{Bytes: h.Image.Bytes, Sum: h.Image.Sum}, from); err != nil {
		return &link.RefusedError{Text: err.Error()} // such as a full disk
	}
	return c.prune(h.Room)
}

// serve sends a copy to another node.
func (c *copies) serve(_ context.Context, _ string, body io.Reader, answer io.Writer) error {
	h, err := readHead(bufio.NewReaderSize(body, maxCopyHead))
	if err != nil {
		return err
	}
	file, err := c.folder.Open(h.Room, h.Image.Name())
	if err != nil {
		return &link.RefusedError{Text: err.Error()}
	}
	defer file.Close() // only read
	_, err = io.Copy(answer, file)
	return err
}

// HasImage implements server.ImageCopies.
func (c *copies) HasImage(room string, image server.RoomImage) bool {
	return c.folder.Has(room, image.Name()) || slices.ContainsFunc(image.Nodes, func(name string) bool {
		peer, ok := c.node.findPeer(name)
		return ok && peer.Fingerprint != ""
	})
}

// OpenImage implements server.ImageCopies. It fetches the image from one of the nodes that have it, unless this node does.
func (c *copies) OpenImage(room string, image server.RoomImage) (io.ReadCloser, error) {
	var errs []error
	for _, name := range image.Nodes {
		if c.folder.Has(room, image.Name()) {
			break
		}
		if _, ok := c.node.findPeer(name); ok {
			errs = append(errs, c.fetch(name, room, image))
		}
	}
	file, err := c.folder.Open(room, image.Name())
	if err != nil {
		return nil, errors.Join(append(errs, err)...)
	}
	return file, nil
}

func (c *copies) fetch(node, room string, image server.RoomImage) error {
	ctx, cancel := context.WithTimeout(context.Background(), copyTimeout)
	defer cancel()
	from, to := io.Pipe()
	go func() {
		to.CloseWithError(c.node.link.Stream(ctx, node, link.GetImage, headOf(room, image), to, image.Bytes))
	}()
	err := c.folder.Receive(room, image.Name(), imagefile.Content{Bytes: image.Bytes, Sum: image.Sum}, from)
	from.CloseWithError(err) // ends the transfer
	if err != nil {
		err = fmt.Errorf("node %s: %w", node, err)
		c.node.log.Warn("a copy of an image cannot be fetched", zap.String("room", room), zap.Error(err))
	}
	return err
}

// PruneImages implements server.ImageCopies. Other nodes prune by the directory.
func (c *copies) PruneImages(room string, newest *server.RoomImage) error {
	return c.folder.Prune(room, func(name string) bool { return newest == nil || newest.IsOld(name) })
}

// prune removes the copies of a room that are older than the image that the directory names.
func (c *copies) prune(room string) error {
	newest, _, err := c.node.FindImage(room)
	if err != nil || newest == nil {
		return nil // not known at present
	}
	return c.PruneImages(room, newest)
}

// sweep removes copies that no room needs, now and once an hour, and repairs once a minute, until ctx ends.
func (c *copies) sweep(ctx context.Context) {
	next, repairs := time.NewTicker(sweepEvery), time.NewTicker(repairEvery)
	defer next.Stop()
	defer repairs.Stop()
	for {
		if err := c.sweepOnce(time.Now()); err != nil {
			c.node.log.Warn("old copies of images are not all removed", zap.Error(err))
		}
		for swept := false; !swept; {
			select {
			case <-next.C:
				swept = true
			case now := <-repairs.C:
				c.repair(ctx, now)
			case <-ctx.Done():
				return
			}
		}
	}
}

func (c *copies) sweepOnce(now time.Time) error {
	worlds, err := c.folder.Worlds()
	if err != nil || !c.node.joined.Load() {
		return err
	}
	for world, saved := range worlds {
		newest, _, failed := c.node.FindImage(world)
		switch {
		case failed != nil:
			return nil // the directory is not known at present
		case newest != nil:
			err = errors.Join(err, c.PruneImages(world, newest))
		case now.Sub(saved) > unknownFor:
			err = errors.Join(err, c.PruneImages(world, nil))
		}
	}
	return err
}

// copiesDir is the folder of copies in a folder of images. No kind of rooms has such a name.
func copiesDir(images string) string { return filepath.Join(images, ".copies") }
