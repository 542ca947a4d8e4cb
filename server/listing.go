package server

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"

	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/world"
)

// Visibility says which clients find a room.
type Visibility uint8

const (
	// Unlisted rooms are joined by clients that know the name, such as invited friends. They are in no list, and no query finds them.
	Unlisted Visibility = iota
	// Listed rooms are in the list of rooms for every client, and are found by queries.
	Listed
	// Private rooms admit users who have a seat, clients whose token names the room, and sessions that the game moves there. All
	// other clients are refused as if there were no such room.
	Private
)

var visibilityNames = [...]string{"unlisted", "listed", "private"}

// String returns the visibility's name in GET /rooms.
func (v Visibility) String() string { return visibilityNames[min(int(v), len(visibilityNames)-1)] }

// Listing describes a room to clients that have not joined it. The server adds the numbers of players and of free places.
type Listing struct {
	Visibility Visibility
	// Attributes are the game's: mode, map, level or state, for example. Queries compare them for equality, so a range
	// of ratings is a value of its own. At most 8, of 192 bytes in all: see wire.CheckAttributes.
	Attributes map[string]string
}

// SetListing replaces what clients learn about the room. It is saved with the room, and restored before RoomGame.Attach. Before that it
// has RoomKind.Visibility, and RoomRequest.Attributes. An error reports attributes beyond the bounds, and
// changes nothing. Only Hooks, systems, functions of Do and Attach may call it. A nil Room does nothing.
func (r *Room) SetListing(l Listing) error {
	if int(l.Visibility) >= len(visibilityNames) {
		return fmt.Errorf("server: a listing of visibility %d", l.Visibility)
	}
	if err := wire.CheckAttributes(l.Attributes); err != nil {
		return fmt.Errorf("server: a listing with %w", err)
	}
	if r != nil {
		r.listing.Store(newListing(l))
	}
	return nil
}

// Listing returns what clients learn about the room. Any goroutine may call it. Do not change its map.
func (r *Room) Listing() Listing {
	if r == nil {
		return Listing{}
	}
	if l := r.listing.Load(); l != nil {
		return l.Listing
	}
	return Listing{}
}

// listing is an immutable Listing with its encoding.
type listing struct {
	Listing
	encoded []byte
}

// newListing copies a valid Listing.
func newListing(l Listing) *listing {
	l.Attributes = maps.Clone(l.Attributes)
	text := wire.AttributesText(l.Attributes)
	b := binary.AppendUvarint([]byte{byte(l.Visibility)}, uint64(len(text)))
	return &listing{l, append(b, text...)}
}

// The record of a room, its listing and its seats, follows the game's Extra in the room's image and journal, if the room has either of
// them:
//
//	record: visibility u8 | length of the attributes uvarint | their text | seats | length of all before u32 | recordMark
const (
	recordMark   = "\x00worldd1"
	recordFooter = 4 + len(recordMark)
)

var errRecord = errors.New("server: damaged listing or seats")

// roomRecord is the record of a room in a run that is being made.
type roomRecord struct {
	room  *Room
	usual Visibility // of the kind
	seats []byte     // restored
}

// keepIn makes g keep the record of the room in its Extra.
func (k *roomRecord) keepIn(g *RoomGame) {
	extra, load, restore, edited := g.Extra, g.LoadExtra, g.RestoreRun, g.Edited
	g.Extra = func(b []byte) []byte {
		if extra != nil {
			b = extra(b)
		}
		return k.appendTo(b)
	}
	g.LoadExtra = func(b []byte) error {
		b, err := k.takeFrom(b)
		if err == nil && load != nil {
			err = load(b)
		}
		return err
	}
	g.RestoreRun = func(img *world.Image) error {
		whole := img.Extra
		defer func() { img.Extra = whole }() // a later attempt needs it
		var err error
		img.Extra, err = k.takeFrom(whole)
		switch {
		case err != nil:
			return err
		case restore != nil:
			return restore(img)
		}
		return g.World.RestoreRun(img)
	}
	if edited != nil {
		g.Edited = func(b []byte) bool {
			b, _, err := splitRecord(b)
			return err == nil && edited(b) // LoadExtra returns the error
		}
	}
}

// appendTo appends the record, unless the room has what a new one of its kind has.
func (k *roomRecord) appendTo(b []byte) []byte {
	l, before := k.room.listing.Load(), len(b)
	b = append(b, l.encoded...)
	header := len(b)
	if now := k.room.run.Load(); now != nil {
		b = now.core.AppendSeats(b)
	}
	if len(b) == header && k.usual == Unlisted && l.Visibility == Unlisted && len(l.Attributes) == 0 {
		return b[:before]
	}
	b = binary.LittleEndian.AppendUint32(b, uint32(len(b)-before))
	return append(b, recordMark...)
}

// splitRecord splits off the record after the game's Extra. It is empty if there is none.
func splitRecord(whole []byte) (extra, record []byte, err error) {
	end := len(whole) - recordFooter
	if end < 0 || string(whole[end+4:]) != recordMark {
		return whole, nil, nil
	}
	n := int(binary.LittleEndian.Uint32(whole[end:]))
	if n > end || n == 0 {
		return nil, nil, errRecord
	}
	return whole[: end-n : end-n], whole[end-n : end], nil
}

// takeFrom sets the room's listing and the seats to those in the record after the game's Extra, which it returns.
func (k *roomRecord) takeFrom(whole []byte) (extra []byte, err error) {
	extra, record, err := splitRecord(whole)
	if err != nil {
		return nil, err
	}
	if len(record) == 0 { // the room had all as usual, perhaps after an image that has a record
		k.seats = nil
		return whole, k.room.SetListing(Listing{Visibility: k.usual})
	}
	visibility := Visibility(record[0])
	length, size := binary.Uvarint(record[1:])
	if size <= 0 || length > uint64(len(record)-1-size) {
		return nil, errRecord
	}
	text, seats := record[1+size:][:length], record[1+size:][length:]
	attributes, err := wire.ParseAttributes(string(text))
	if err == nil {
		err = k.room.SetListing(Listing{visibility, attributes})
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errRecord, err)
	}
	k.seats = append(k.seats[:0], seats...)
	return extra, nil
}
