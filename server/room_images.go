package server

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"go.uber.org/zap"

	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/server/imagefile"
)

const (
	// imageSuffix ends the names of images, and no other file name in their folders.
	imageSuffix = ".image"
	// pruneEvery is the interval between searches for old images.
	pruneEvery = time.Hour
	// unusedAfter is how long no session has entered a room before its image may be removed for
	// another, if RoomImages.PruneAfter is not set.
	unusedAfter = 30 * 24 * time.Hour
)

// imagePath returns the file of a room's image.
func (c RoomImages) imagePath(kind, id string) string {
	if id == "" {
		return filepath.Join(c.Dir, kind+imageSuffix)
	}
	return filepath.Join(c.Dir, kind, id+imageSuffix)
}

// storedImage is the image of a room with an id, on disk, with the older ones.
type storedImage struct {
	kind, id string
	saved    time.Time // newest file
	bytes    int64
	ended    bool // a crash has interrupted its removal, which Open continues
	linked   bool // linked by the operator: neither counted nor removed
}

// storedImages returns the images of the rooms of a kind that have an id.
func (c RoomImages) storedImages(kind string) ([]storedImage, error) {
	files, err := os.ReadDir(filepath.Join(c.Dir, kind))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("server: cannot read the folder of images: %w", err)
	}
	byID := map[string]*storedImage{}
	for _, f := range files {
		id, ok := strings.CutSuffix(imagefile.BaseName(f.Name()), imageSuffix)
		info, err := f.Info()
		if !ok || err != nil || slices.Contains([]string{".lock", ".run", ".crash", ".confirmed", ".stale"}, filepath.Ext(f.Name())) {
			continue // no image, only a file of a run that no session entered; or removed meanwhile
		}
		img := byID[id]
		if img == nil {
			img = &storedImage{kind: kind, id: id}
			byID[id] = img
		}
		img.bytes += info.Size()
		img.ended = img.ended || strings.HasSuffix(f.Name(), ".ended")
		img.linked = img.linked || !info.Mode().IsRegular()
		if info.ModTime().After(img.saved) {
			img.saved = info.ModTime()
		}
	}
	all := make([]storedImage, 0, len(byID))
	for _, img := range byID {
		all = append(all, *img)
	}
	return all, nil
}

// imageFolder bounds the stored images of rooms: their number, also per address, their size and
// their age.
type imageFolder struct {
	rooms    *rooms
	config   RoomImages
	mu       sync.Mutex                   // acquired before rooms.mu: held while images are opened, counted and removed
	creators map[string]map[string]string // by kind and id: address that created the stored room since the server's start
	stop     context.CancelFunc           // of start
	copies   ImageCopies                  // nil: none
}

func newImageFolder(m *rooms) *imageFolder {
	f := &imageFolder{rooms: m, config: m.config.Images, creators: map[string]map[string]string{}, stop: func() {}}
	f.copies = f.config.Copies
	if f.config.Shared != "" {
		f.copies = sharedImages{imagefile.NewSharedFolder(f.config.Shared)}
	}
	for kind := range m.config.Kinds {
		f.creators[kind] = map[string]string{}
	}
	return f
}

// start removes old images and copies journals until stop is called.
func (f *imageFolder) start() {
	if f.config.Dir != "" {
		ctx, stop := context.WithCancel(context.Background())
		f.stop = stop
		f.rooms.hosting.Go(func() { f.pruneOld(ctx) })
		if f.copies != nil && f.config.Journal != imagefile.JournalOff {
			f.rooms.hosting.Go(func() { f.copyJournals(ctx) })
		}
	}
}

// openImage opens the room's image. It returns nil if the room is not saved.
func (f *imageFolder) openImage(k *kind, r *Room) (*imagefile.Store, error) {
	if f.config.Dir == "" || k.Unsaved {
		return nil, nil
	}
	if !f.rooms.descriptors.openMissing() { // the remaining descriptors are for saves
		return nil, fmt.Errorf("server: %w", syscall.EMFILE)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	path := f.config.imagePath(r.kind, r.id)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, fmt.Errorf("server: cannot make the folder of images: %w", err)
	}
	if _, err := os.Stat(path); err != nil && r.id != "" {
		if err := f.admitImage(k, r); err != nil {
			return nil, err
		}
	}
	store, err := imagefile.Open(path, f.config.Keep)
	if err == nil && f.config.Strict {
		store.RequireUnchanged()
	}
	return store, err
}

// admitImage makes space for the image of r, which has none yet, or returns an error. Open
// rooms count even before their first image. The operator's rooms are not bounded. Callers hold
// f.mu.
func (f *imageFolder) admitImage(k *kind, r *Room) error {
	stored, err := f.config.storedImages(r.kind)
	if err != nil {
		return err
	}
	ids, operator := f.rooms.reserveImage(r)
	unwritten := len(ids)
	for _, img := range stored {
		if ids[img.id] {
			unwritten--
		}
		ids[img.id] = true
	}
	if operator || ids[r.id] {
		return nil
	}
	err = f.shareImages(k, r, ids)
	if err == nil && !f.pruneImages(stored, f.config.unusedAfter(), "the kind has its maximum of images", func(n int, _ int64) bool { return n+unwritten < k.MaxImages }) {
		err = fmt.Errorf("server: the kind %s has %d images, its maximum, and somebody has entered each of their rooms lately: remove some, or raise the maximum (%w)", r.kind, len(ids), errStored)
	}
	if err == nil {
		err = f.pruneBytes()
	}
	if err != nil {
		f.rooms.cancelImage(r)
	}
	return err
}

var errStored = &wire.Error{Code: wire.ServerFull, Detail: "too many rooms are stored"}

// shareImages counts the image of r. It returns an error if the address that created r has more
// than its share of the kind's images, whose ids are given. Callers hold f.mu.
func (f *imageFolder) shareImages(k *kind, r *Room, ids map[string]bool) error {
	if r.creator == "" {
		return nil
	}
	creators := f.creators[r.kind]
	maps.DeleteFunc(creators, func(id, _ string) bool { return !ids[id] })
	own := 0
	for _, address := range creators {
		if address == r.creator {
			own++
		}
	}
	if own >= addressShare(k.MaxImages, len(ids)) {
		return &wire.Error{Code: wire.ServerFull, Detail: fmt.Sprintf("your network has stored %d rooms", own)}
	}
	creators[r.id] = r.creator
	return nil
}

// pruneBytes removes old images until the rest has fewer bytes than MaxBytes, or returns an
// error. Callers hold f.mu.
func (f *imageFolder) pruneBytes() error {
	most := f.config.MaxBytes
	if most == 0 {
		return nil
	}
	stored, err := f.allImages()
	if err == nil && !f.pruneImages(stored, f.config.unusedAfter(), "the images have their maximum of bytes", func(_ int, bytes int64) bool { return bytes < most }) {
		err = fmt.Errorf("server: the images of rooms have %d bytes or more, and somebody has entered each of the rooms lately: remove some, or raise the maximum (%w)", most, errStored)
	}
	return err
}

// hasJournal reports whether rooms of a kind have journals.
func (f *imageFolder) hasJournal(k *kind) bool {
	return f.config.Dir != "" && !k.Unsaved && f.config.Journal != imagefile.JournalOff
}

// storedBlock returns the block of generations of the room's run on the disk, or -1 if there is none that could continue.
func (f *imageFolder) storedBlock(k *kind, r *Room) int {
	if !f.hasJournal(k) {
		return -1
	}
	block, _ := f.imageBlock(r)
	return block
}

// imageBlock returns the block of generations of the room's newest image, which FILE.run need not name: that has the highest of all
// runs. It is -1 if the image cannot be read, or if there is none: then hasImage is false.
func (f *imageFolder) imageBlock(r *Room) (block int, hasImage bool) {
	head, err := imagefile.ReadHead(f.config.imagePath(r.kind, r.id))
	if err != nil { // openImage reports the error
		return -1, !errors.Is(err, fs.ErrNotExist)
	}
	return blockOf(head.NewestGeneration()), true
}

// keepBlocks keeps the blocks of generations in which stored rooms continue their runs. A block that cannot be read is free: its
// room begins a new run.
func (f *imageFolder) keepBlocks(r *ranges) {
	for name, k := range f.rooms.kinds {
		if !f.hasJournal(k) {
			continue
		}
		stored, err := f.config.storedImages(name)
		if err != nil {
			f.rooms.log.Warn("cannot read which rooms are stored: some may begin again instead of continuing", zap.String("kind", name), zap.Error(err))
		}
		for _, img := range append(stored, storedImage{kind: name}) {
			newest, err := imagefile.ReadNewestGeneration(f.config.imagePath(img.kind, img.id))
			if err == nil && newest > 0 {
				r.keepForStored(blockOf(newest))
			}
		}
	}
}

// countImages returns the number of a kind's stored images, and its maximum, which is 0 if the kind is not saved. Open
// rooms without an image do not count.
func (f *imageFolder) countImages(kind string) (images, most int) {
	k := f.rooms.kinds[kind]
	if f.config.Dir == "" || k.Unsaved {
		return 0, 0
	}
	stored, err := f.config.storedImages(kind)
	if err != nil {
		return 0, 0 // which pruneOld logs
	}
	return len(stored), k.MaxImages
}

// removeEnded removes the images of rooms that have ended for good, which a crash has left. Callers hold f.mu.
func (f *imageFolder) removeEnded() error {
	stored, err := f.allImages()
	for _, img := range stored {
		if img.ended && f.rooms.existingRoom(img.name()) == nil {
			err = errors.Join(err, f.config.removeImage(img))
		}
	}
	return err
}

// allImages returns the images of all kinds of rooms.
func (f *imageFolder) allImages() (all []storedImage, err error) {
	for kind, k := range f.rooms.config.Kinds {
		if !k.Unsaved {
			stored, failed := f.config.storedImages(kind)
			all, err = append(all, stored...), errors.Join(err, failed)
		}
	}
	return all, err
}

// pruneImages removes images of rooms that no session has entered for a time, the oldest first,
// until enough returns true for the number and the bytes of the remaining images. It returns
// the last result of enough. It keeps the images of existing rooms. Callers hold f.mu.
func (f *imageFolder) pruneImages(stored []storedImage, unused time.Duration, why string, enough func(n int, bytes int64) bool) bool {
	n, bytes := len(stored), int64(0)
	for _, img := range stored {
		bytes += img.bytes
	}
	slices.SortFunc(stored, func(a, b storedImage) int { return a.saved.Compare(b.saved) })
	now := time.Now()
	for _, img := range stored {
		if enough(n, bytes) || now.Sub(img.saved) < unused {
			break
		}
		if img.linked || f.rooms.existingRoom(img.name()) != nil {
			continue
		}
		log := f.rooms.log.With(zap.String("room", img.name()), zap.Time("saved", img.saved), zap.Int64("bytes", img.bytes), zap.String("why", why))
		if err := f.removeStored(img); err != nil {
			log.Warn("cannot remove the image of a room that nobody has entered for long", zap.Error(err))
			continue
		}
		log.Info("removed the image of a room that nobody has entered for long")
		n--
		bytes -= img.bytes
	}
	return enough(n, bytes)
}

func (i storedImage) name() string { return i.kind + "/" + i.id }

// removeTimeout bounds how long the removal of an image waits for the cluster.
const removeTimeout = 2 * time.Second

// removeStored removes the image of a room that does not exist. If it is the newest in a cluster, it takes the room for that, so that no
// other node runs it.
func (f *imageFolder) removeStored(img storedImage) error {
	c := f.rooms.process.Cluster
	if c == nil {
		return f.config.removeImage(img)
	}
	image, _, err := c.FindImage(img.name())
	if err != nil {
		return err
	}
	store, err := imagefile.Open(f.config.imagePath(img.kind, img.id), f.config.Keep)
	if err != nil {
		return err
	}
	newest := false
	if image != nil {
		newest, err = store.Settle(image.content())
	}
	if err == nil && newest {
		err = f.forgetImage(img.name())
	}
	if err == nil {
		err = store.Remove()
	}
	return errors.Join(err, store.Close())
}

// forgetImage makes the cluster forget the newest image of a room.
func (f *imageFolder) forgetImage(room string) error {
	ctx, cancel := context.WithTimeout(context.Background(), removeTimeout)
	defer cancel()
	g, err := f.rooms.process.Cluster.TakeRoom(ctx, room, -1)
	if err != nil {
		return err
	}
	defer g.Release(ctx, false)
	return (&imagePointer{room: room, grant: g, copies: f.copies}).forget()
}

// removeImage removes an image, unless another process has it open.
func (c RoomImages) removeImage(img storedImage) error {
	store, err := imagefile.Open(c.imagePath(img.kind, img.id), c.Keep)
	if err != nil {
		return err
	}
	return errors.Join(store.Remove(), store.Close())
}

// unusedAfter returns the age at which an image may be removed for another, counted from the
// last session in its room.
func (c RoomImages) unusedAfter() time.Duration {
	switch {
	case c.PruneAfter < 0:
		return math.MaxInt64
	case c.PruneAfter == 0:
		return unusedAfter
	}
	return c.PruneAfter
}

// pruneOld removes old images now and once an hour until ctx ends: images of rooms that no
// session has entered for RoomImages.PruneAfter, images beyond MaxBytes, and what a crash has left of rooms that had ended.
func (f *imageFolder) pruneOld(ctx context.Context) {
	for next := time.NewTicker(pruneEvery); ; {
		f.mu.Lock()
		err := errors.Join(f.removeEnded(), f.pruneBytes())
		if after := f.config.PruneAfter; after > 0 {
			stored, failed := f.allImages()
			f.pruneImages(stored, after, "nobody has entered it for the time to keep it", func(int, int64) bool { return false })
			err = errors.Join(err, failed)
		}
		f.mu.Unlock()
		if err != nil {
			f.rooms.log.Warn("old images of rooms are not all removed", zap.Error(err))
		}
		select {
		case <-next.C:
		case <-ctx.Done():
			next.Stop()
			return
		}
	}
}

// reserveImage counts the image of r, and returns the ids of the other saved rooms of its kind.
// operator reports whether the operator has created r.
func (m *rooms) reserveImage(r *Room) (ids map[string]bool, operator bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r.saved = true
	ids = map[string]bool{}
	for _, o := range m.byName {
		if o.kind == r.kind && o.saved {
			ids[o.id] = true
		}
	}
	delete(ids, r.id)
	return ids, r.by == byOperator
}

// cancelImage no longer counts an image for r.
func (m *rooms) cancelImage(r *Room) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r.saved = false
}
