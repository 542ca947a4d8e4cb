package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/server/imagefile"
)

// RoomImage names an image of a room in a cluster. Images with the same name have the same bytes.
type RoomImage struct {
	Epoch uint64 // RoomTaking.Epoch of the run that saved it
	Tick  uint64
	Bytes int64
	Sum   string   // SHA-256, hexadecimal
	Nodes []string // that have it
	Any   bool     // an operator lets the room begin without it
}

// Name returns the image's name. Of a room's images, the newest has the highest epoch, and of those the highest tick.
func (i *RoomImage) Name() string { return fmt.Sprintf("%d-%d-%s", i.Epoch, i.Tick, i.Sum) }

func (i *RoomImage) content() imagefile.Content { return imagefile.Content{Bytes: i.Bytes, Sum: i.Sum} }

// IsOld reports whether an image called name is older than i. Names of other forms are not.
func (i *RoomImage) IsOld(name string) bool {
	var epoch, tick uint64
	if n, err := fmt.Sscanf(name, "%d-%d-", &epoch, &tick); n != 2 || err != nil {
		return false
	}
	return epoch < i.Epoch || epoch == i.Epoch && tick < i.Tick
}

// ImageCopies keeps the newest images of rooms where other nodes find them. Any goroutine calls its methods, which bound their own time.
type ImageCopies interface {
	// PutImage copies an image of this node, the file at path, and returns the other nodes that have it then. After an error
	// the image is not the room's newest.
	PutImage(room string, image RoomImage, path string) (nodes []string, err error)
	// HasImage reports whether OpenImage may succeed. It asks no other node.
	HasImage(room string, image RoomImage) bool
	// OpenImage returns the bytes of an image.
	OpenImage(room string, image RoomImage) (io.ReadCloser, error)
	// PruneImages removes what this node keeps of the room's images older than newest; nil: all. So it does for their journals.
	PruneImages(room string, newest *RoomImage) error
	// PutJournals appends the new bytes of the rooms' journals to the copies beside their images.
	PutJournals(ctx context.Context, journals []RoomJournal) error
	// ReadJournal returns the journal after an image as far as it was copied; nothing is no error.
	ReadJournal(room string, image RoomImage) ([]imagefile.CopiedSegment, error)
}

// sharedImages are ImageCopies in a folder that the nodes share.
type sharedImages struct{ *imagefile.SharedFolder }

func (f sharedImages) PutImage(room string, i RoomImage, path string) ([]string, error) {
	return nil, f.Put(room, i.Name(), path)
}
func (f sharedImages) HasImage(room string, i RoomImage) bool { return f.Has(room, i.Name()) }
func (f sharedImages) OpenImage(room string, i RoomImage) (io.ReadCloser, error) {
	return f.Open(room, i.Name())
}

func (f sharedImages) PruneImages(room string, newest *RoomImage) error {
	return f.Prune(room, func(name string) bool { return newest == nil || newest.IsOld(name) })
}

// RoomTaking identifies a taking of a room.
type RoomTaking struct {
	Node      string // this one
	Directory string // identity of the cluster's directory
	Epoch     uint64 // higher than in all takings before
}

// ErrNotOwner is the error of RoomGrant.SetImage if the room is no longer this node's.
var ErrNotOwner = errors.New("server: the room is no longer this node's")

// imageElsewhereError reports a room whose newest image this node does not have: no older one and no new world takes its place.
type imageElsewhereError struct {
	Room, Image string
	Nodes       []string // that have the image
	Address     string   // for clients, of one of these that lives; empty: none does
}

func (e *imageElsewhereError) Error() string {
	return fmt.Sprintf("server: the newest image of room %s, %s, is not on this node: start one of the nodes that have it (%s), or let the room begin without it: worldd cluster forget %s",
		e.Room, e.Image, strings.Join(e.Nodes, ", "), e.Room)
}

// Unwrap returns what clients receive.
func (e *imageElsewhereError) Unwrap() error {
	if e.Address != "" {
		if moved, err := wire.MovedTo(e.Address, nil); err == nil {
			return moved
		}
	}
	return &wire.Error{Code: wire.Internal, Detail: "the room's image is on a node that does not run"}
}

// confirmTimeout bounds the wait for the directory during a save.
const confirmTimeout = 10 * time.Second

// imagePointer makes the images of a run the newest of its room in the cluster (C5 of package cluster). Its methods run on the goroutine
// that saves.
type imagePointer struct {
	room   string
	grant  RoomGrant
	store  *imagefile.Store
	copies ImageCopies // nil: none
	log    *zap.Logger
	late   func() // counts an image that was saved after the room was lost
	// newest is the newest image that the directory has named for this run; nil: none.
	newest atomic.Pointer[RoomImage]
	// repeats: an image of another node is continued with the copy of its journal.
	repeats bool
}

// confirm is an imagefile.Confirm.
func (p *imagePointer) confirm(path string, tick uint64, c imagefile.Content) error {
	taking := p.grant.Taking()
	image := &RoomImage{Epoch: taking.Epoch, Tick: tick, Bytes: c.Bytes, Sum: c.Sum, Nodes: []string{taking.Node}}
	if p.copies != nil {
		others, err := p.copies.PutImage(p.room, *image, path)
		if err != nil {
			return fmt.Errorf("%w: %w", imagefile.ErrUnconfirmed, err)
		}
		image.Nodes = append(image.Nodes, others...)
	}
	ctx, cancel := context.WithTimeout(context.Background(), confirmTimeout)
	defer cancel()
	if err := p.grant.SetImage(ctx, image); err != nil {
		if errors.Is(err, ErrNotOwner) {
			p.late()
		}
		return err
	}
	p.noteNewest(image)
	return nil
}

// noteNewest notes on the disk that an image is the newest, and removes older ones.
func (p *imagePointer) noteNewest(image *RoomImage) {
	p.newest.Store(image)
	err := p.store.NoteConfirmed(confirmedNote(p.grant.Taking().Directory, image))
	if p.copies != nil {
		err = errors.Join(err, p.copies.PruneImages(p.room, image))
	}
	if err != nil {
		p.log.Warn("files beside the newest image are not all in order", zap.Error(err))
	}
}

// forget removes the pointer of a room that ends for good, before its files are removed.
func (p *imagePointer) forget() error {
	ctx, cancel := context.WithTimeout(context.Background(), confirmTimeout)
	defer cancel()
	if err := p.grant.SetImage(ctx, nil); err != nil {
		return fmt.Errorf("server: the cluster keeps the image of room %s: %w", p.room, err)
	}
	if p.copies != nil {
		return p.copies.PruneImages(p.room, nil)
	}
	return nil
}

// confirmedNote is the text of imagefile.Store.NoteConfirmed: by which directory, and which image.
func confirmedNote(directory string, i *RoomImage) string { return directory + " " + i.Name() }

// settle makes the room's newest image in the cluster the newest on this disk, before a run begins. It fails if this node cannot have the
// image.
func (p *imagePointer) settle(elsewhere func(*RoomImage) error) error {
	image := p.grant.Image()
	noted, err := imagefile.ReadConfirmed(p.store.Path())
	if err != nil {
		return err
	}
	directory, _, _ := strings.Cut(noted, " ")
	switch {
	case image == nil && noted != "" && directory == p.grant.Taking().Directory:
		p.log.Warn("the room has ended for good on another node: the image of this node is set aside", zap.String("path", p.store.Path()+".stale"))
		return p.store.SetAside()
	case image == nil:
		return p.store.DropPending()
	case image.Any:
		p.log.Warn("an operator lets the room begin without its newest image: it begins with the one of this node, if there is one", zap.String("image", image.Name()))
		return p.store.DropPending()
	}
	found, err := p.store.Settle(image.content())
	if err != nil {
		return err
	}
	if !found {
		if err = p.install(image, elsewhere); err != nil {
			return err
		}
	}
	if note := confirmedNote(p.grant.Taking().Directory, image); note != noted {
		return p.store.NoteConfirmed(note)
	}
	return nil
}

// install copies the image from where other nodes have left it.
func (p *imagePointer) install(image *RoomImage, elsewhere func(*RoomImage) error) error {
	if p.copies == nil || !p.copies.HasImage(p.room, *image) {
		return elsewhere(image)
	}
	from, err := p.copies.OpenImage(p.room, *image)
	if err != nil {
		return errors.Join(elsewhere(image), err)
	}
	defer from.Close() // only read
	if p.repeats {
		p.installJournal(image)
	}
	content := image.content()
	if err := p.store.Install(io.Reader(from), &content); err != nil {
		return err
	}
	p.log.Info("the room's image is another node's", zap.String("image", image.Name()))
	return nil
}

// newImagePointer returns the pointer of a room that is taken, or nil without a cluster or an image.
func (l *roomLife) newImagePointer(store *imagefile.Store) *imagePointer {
	if l.grant == nil || store == nil {
		return nil
	}
	p := &imagePointer{
		room: l.room.name, grant: l.grant, store: store, copies: l.rooms.images.copies, log: l.room.logger(l.rooms.log),
		late:    func() { l.rooms.counters.lateSaves.Add(1) },
		repeats: l.rooms.images.hasJournal(l.kind) && (l.awaited == nil || len(l.awaited.where.Journal) == 0),
	}
	p.newest.Store(l.grant.Image())
	return p
}

// settleImage makes the store hold the room's newest image in the cluster.
func (l *roomLife) settleImage(store *imagefile.Store) error {
	p := l.newImagePointer(store)
	if p == nil {
		return nil
	}
	return p.settle(func(image *RoomImage) error {
		_, addresses, _ := l.rooms.process.Cluster.FindImage(l.room.name)
		return elsewhereError(l.room.name, image, addresses)
	})
}

func elsewhereError(room string, image *RoomImage, addresses []string) *imageElsewhereError {
	e := &imageElsewhereError{Room: room, Image: image.Name(), Nodes: image.Nodes}
	if len(addresses) > 0 {
		e.Address = addresses[0]
	}
	return e
}

// findImageElsewhere returns an error if a room's newest image is on other nodes, as far as is known without the room.
func (f *imageFolder) findImageElsewhere(room string) *imageElsewhereError {
	kindName, id, err := ParseRoomName(room)
	k := f.rooms.kinds[kindName]
	if err != nil || k == nil || f.config.Dir == "" || k.Unsaved {
		return nil
	}
	image, addresses, err := f.rooms.process.Cluster.FindImage(room)
	if err != nil || image == nil || image.Any {
		return nil
	}
	if f.copies != nil && f.copies.HasImage(room, *image) || imagefile.HasSize(f.config.imagePath(kindName, id), image.content()) {
		return nil
	}
	return elsewhereError(room, image, addresses)
}
