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
	"syscall"
	"time"

	"go.uber.org/zap"

	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/server/imagefile"
)

const (
	// imageSuffix ends the names of images, and of no other file in their folders.
	imageSuffix = ".image"
	// pruneEvery is the interval between searches for old images.
	pruneEvery = time.Hour
	// unusedAfter is how long nobody has entered a room before its image may be removed for
	// another, without RoomImages.PruneAfter.
	unusedAfter = 30 * 24 * time.Hour
)

// imagePath returns the file of a room's image.
func (c RoomImages) imagePath(kind, id string) string {
	if id == "" {
		return filepath.Join(c.Dir, kind+imageSuffix)
	}
	return filepath.Join(c.Dir, kind, id+imageSuffix)
}

// storedImage is the image of a room with an id, on disk, in all its generations.
type storedImage struct {
	kind, id string
	saved    time.Time // newest file
	bytes    int64
	linked   bool // by the operator: neither counted nor removed
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
		if !ok || err != nil || strings.HasSuffix(f.Name(), ".lock") || strings.HasSuffix(f.Name(), ".run") {
			continue // no image, which runs that nobody enters write too; or removed meanwhile
		}
		img := byID[id]
		if img == nil {
			img = &storedImage{kind: kind, id: id}
			byID[id] = img
		}
		img.bytes += info.Size()
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

// openImage opens the room's image. It returns nil if the room is not saved.
func (m *rooms) openImage(k *kind, r *Room) (*imagefile.Store, error) {
	images := m.config.Images
	if images.Dir == "" || k.Unsaved {
		return nil, nil
	}
	if !m.descriptors.openMissing() { // what remains is for saves
		return nil, fmt.Errorf("server: %w", syscall.EMFILE)
	}
	m.imagesMu.Lock()
	defer m.imagesMu.Unlock()
	path := images.imagePath(r.kind, r.id)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, fmt.Errorf("server: cannot make the folder of images: %w", err)
	}
	if _, err := os.Stat(path); err != nil && r.id != "" {
		if err := m.admitImage(k, r); err != nil {
			return nil, err
		}
	}
	return imagefile.Open(path, images.Keep)
}

// admitImage makes space for the image of r, which has none yet, or returns an error. Open rooms count
// before their first image. The operator is not bounded. Callers hold m.imagesMu.
func (m *rooms) admitImage(k *kind, r *Room) error {
	stored, err := m.config.Images.storedImages(r.kind)
	if err != nil {
		return err
	}
	m.mu.Lock()
	operator := r.by == byOperator
	r.saved = true
	ids := map[string]bool{}
	for _, o := range m.byName {
		if o.kind == r.kind && o.saved {
			ids[o.id] = true
		}
	}
	m.mu.Unlock()
	delete(ids, r.id)
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
	err = m.shareImages(k, r, ids)
	if err == nil && !m.pruneImages(stored, m.config.Images.unusedAfter(), "the kind has its maximum of images", func(n int, _ int64) bool { return n+unwritten < k.MaxImages }) {
		err = fmt.Errorf("server: the kind %s has %d images, its maximum, and somebody has entered each of their rooms lately: remove some, or raise the maximum (%w)", r.kind, len(ids), errStored)
	}
	if err == nil {
		err = m.pruneBytes()
	}
	if err != nil {
		m.mu.Lock()
		r.saved = false
		m.mu.Unlock()
	}
	return err
}

var errStored = &wire.Error{Code: wire.ServerFull, Detail: "too many rooms are stored"}

// shareImages counts the image of r, or returns an error if the address that created r has more than
// its share of the kind's images, whose ids are given. Callers hold m.imagesMu.
func (m *rooms) shareImages(k *kind, r *Room, ids map[string]bool) error {
	if r.creator == "" {
		return nil
	}
	maps.DeleteFunc(k.imageCreators, func(id, _ string) bool { return !ids[id] })
	own := 0
	for _, address := range k.imageCreators {
		if address == r.creator {
			own++
		}
	}
	if own >= addressShare(k.MaxImages, len(ids)) {
		return &wire.Error{Code: wire.ServerFull, Detail: fmt.Sprintf("your network has stored %d rooms", own)}
	}
	k.imageCreators[r.id] = r.creator
	return nil
}

// pruneBytes removes old images until all of them have fewer bytes than they may have, or returns an
// error. Callers hold m.imagesMu.
func (m *rooms) pruneBytes() error {
	most := m.config.Images.MaxBytes
	if most == 0 {
		return nil
	}
	stored, err := m.allImages()
	if err == nil && !m.pruneImages(stored, m.config.Images.unusedAfter(), "the images have their maximum of bytes", func(_ int, bytes int64) bool { return bytes < most }) {
		err = fmt.Errorf("server: the images of rooms have %d bytes or more, and somebody has entered each of the rooms lately: remove some, or raise the maximum (%w)", most, errStored)
	}
	return err
}

// allImages returns the images of all kinds of rooms.
func (m *rooms) allImages() (all []storedImage, err error) {
	for kind, k := range m.config.Kinds {
		if !k.Unsaved {
			stored, failed := m.config.Images.storedImages(kind)
			all, err = append(all, stored...), errors.Join(err, failed)
		}
	}
	return all, err
}

// pruneImages removes images of rooms that nobody has entered for a time, the longest first, until
// enough returns true for the number and the bytes of the remaining ones. It reports whether enough
// did. It keeps the images of rooms that exist. Callers hold m.imagesMu.
func (m *rooms) pruneImages(stored []storedImage, unused time.Duration, why string, enough func(n int, bytes int64) bool) bool {
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
		if img.linked || m.hasRoom(img.name()) {
			continue
		}
		log := m.log.With(zap.String("room", img.name()), zap.Time("saved", img.saved), zap.Int64("bytes", img.bytes), zap.String("why", why))
		if err := m.config.Images.removeImage(img); err != nil {
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

func (m *rooms) hasRoom(name string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.byName[name] != nil
}

// removeImage removes an image, unless another process has it open.
func (c RoomImages) removeImage(img storedImage) error {
	store, err := imagefile.Open(c.imagePath(img.kind, img.id), c.Keep)
	if err != nil {
		return err
	}
	return errors.Join(store.Remove(), store.Close())
}

// unusedAfter returns how long nobody must have entered a room whose image is removed for another.
func (c RoomImages) unusedAfter() time.Duration {
	switch {
	case c.PruneAfter < 0:
		return math.MaxInt64
	case c.PruneAfter == 0:
		return unusedAfter
	}
	return c.PruneAfter
}

// pruneOld removes old images now and once an hour until ctx ends: those that nobody has entered for
// RoomImages.PruneAfter, and what exceeds MaxBytes.
func (m *rooms) pruneOld(ctx context.Context) {
	for next := time.NewTicker(pruneEvery); ; {
		m.imagesMu.Lock()
		err := m.pruneBytes()
		if after := m.config.Images.PruneAfter; after > 0 {
			stored, failed := m.allImages()
			m.pruneImages(stored, after, "nobody has entered it for the time to keep it", func(int, int64) bool { return false })
			err = errors.Join(err, failed)
		}
		m.imagesMu.Unlock()
		if err != nil {
			m.log.Warn("old images of rooms are not all removed", zap.Error(err))
		}
		select {
		case <-next.C:
		case <-ctx.Done():
			next.Stop()
			return
		}
	}
}
