package cluster

import (
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"time"
)

// maxImageNodes bounds the nodes that a room's record names for its image.
const maxImageNodes = 16

// ErrNotOwner: another node may have the room, or has saved it meanwhile. An image of this process is not the room's newest.
var ErrNotOwner = errors.New("cluster: the room is no longer this node's: its newest image is another one")

var errPointing = errors.New("cluster: the pointer to this room's image is being moved already")

// Image points to the newest image of a room (C5). Images with the same Name have the same bytes.
type Image struct {
	Epoch uint64   `json:"epoch"` // of the taking that saved it
	Tick  uint64   `json:"tick"`
	Bytes int64    `json:"bytes"`
	Sum   string   `json:"sum"`           // SHA-256, hexadecimal
	Nodes []string `json:"nodes"`         // that have it
	Any   bool     `json:"any,omitempty"` // an operator lets the room begin without it
}

// Name returns the image's name. Of a room's images, the newest has the highest epoch, and of those the highest tick.
func (i *Image) Name() string { return fmt.Sprintf("%d-%d-%s", i.Epoch, i.Tick, i.Sum) }

// isSame reports whether two pointers, or nil, name the same image on the same nodes.
func (i *Image) isSame(other *Image) bool {
	if i == nil || other == nil {
		return i == other
	}
	return i.Name() == other.Name() && i.Any == other.Any && slices.Equal(i.Nodes, other.Nodes)
}

// Check reports why the pointer cannot be a node's, or nil.
func (i *Image) Check() error {
	sum, err := hex.DecodeString(i.Sum)
	switch {
	case err != nil || len(sum) != 32 || hex.EncodeToString(sum) != i.Sum:
		return fmt.Errorf("image sum %.80q: it must have 64 hexadecimal digits", i.Sum)
	case i.Bytes < 0 || i.Epoch > maxEpoch:
		return fmt.Errorf("an image of %d bytes, epoch %d", i.Bytes, i.Epoch)
	case len(i.Nodes) > maxImageNodes:
		return fmt.Errorf("an image on %d nodes, at most %d", len(i.Nodes), maxImageNodes)
	}
	for _, node := range i.Nodes {
		if err := wrongName(node); err != nil {
			return err
		}
	}
	return nil
}

// pointing is a caller that waits until the directory names an image as the newest of a room.
type pointing struct {
	room  string
	image *Image // nil: the room has none any more
}

// point makes an image the newest of a room that this node has. An event tells what becomes of it.
func (m *machine) point(now time.Duration, p *pointing) {
	m.now = now
	m.rooms.point(m, p)
	m.drive()
}

// withdraw forgets p. The directory may name the image all the same.
func (m *machine) withdraw(now time.Duration, p *pointing) {
	m.now = now
	if r := m.rooms.all[p.room]; r != nil && r.holding != nil && r.holding.pointing == p {
		r.holding.pointing = nil
	}
	m.drive()
}

func (rs *rooms) point(m *machine, p *pointing) {
	r := rs.all[p.room]
	switch {
	case r == nil || r.holding == nil || r.holding.releasing:
		m.emit(event{kind: pointFailed, room: p.room, pointing: p, err: ErrNotOwner})
	case r.holding.pointing != nil:
		m.emit(event{kind: pointFailed, room: p.room, pointing: p, err: errPointing})
	default:
		r.holding.pointing = p
		rs.attend(r)
	}
}

// movePointer swaps the room's record for one that names the image. It is the record of this holding, at its revision: so the image of a
// node that has lost the room is never the newest (C5).
func (rs *rooms) movePointer(m *machine, r *room) {
	if h := r.holding; r.record.Image.isSame(h.pointing.image) {
		rs.endPointing(m, r, pointed, nil)
		return
	}
	next := r.record
	next.Image, next.Exact = r.holding.pointing.image, true
	rs.swap(m, r, []Swap{{r.key(), encodeRoom(next), r.base()}}, func(uint64) {}, func() {})
}

// newestImage returns the image with which a room's next taking begins. Only a run that continues in an adopted directory knows better
// than the record, unless the directory is the one before.
func (rs *rooms) newestImage(r *room) *Image {
	if h := r.holding; h != nil && r.record.Nonce != h.nonce {
		return h.image
	}
	return r.record.Image
}

// endPointing tells the caller that waits for the pointer, if there is one.
func (rs *rooms) endPointing(m *machine, r *room, kind eventKind, err error) {
	if p := r.holding.pointing; p != nil {
		r.holding.pointing = nil
		m.emit(event{kind: kind, room: r.name, pointing: p, err: err})
	}
}
