package cluster

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func testImage(tick uint64, nodes ...string) *Image {
	return &Image{Epoch: 1, Tick: tick, Bytes: 100, Sum: strings.Repeat("0a", 32), Nodes: nodes}
}

func (d *desk) point(room string, i *Image) *pointing {
	p := &pointing{room: room, image: i}
	d.input(func() { d.machine.point(d.now, p) })
	return p
}

// record returns the record of a room.
func (d *desk) record(room string) roomRecord {
	e, ok := d.store.entries[roomKey(room)]
	require.True(d, ok)
	r, err := parseRoom(e.Key, e.Value)
	require.NoError(d, err)
	return r
}

// requireUnreadBefore checks whether programs without images refuse the record of a room. They would take the room, and write a record
// without its image.
func (d *desk) requireUnreadBefore(room string, unread bool) {
	require.Equal(d, unread, wrongVersion(d.record(room).Version, recordVersion) != nil)
}

// The pointer to a room's newest image stays with the room while nobody runs it, whether or not a stored run keeps its block. The next node
// learns it by taking the room.
func TestImageStaysWithItsRoom(t *testing.T) {
	for _, keep := range []bool{true, false} {
		d := newDesk(t, "a")
		d.take("arena", noBlock)
		require.Nil(t, d.requireTook("arena").image)
		saved := testImage(7, "a")
		p := d.point("arena", saved)
		require.Equal(t, event{kind: pointed, room: "arena", pointing: p}, d.outcome("arena"))
		d.requireUnreadBefore("arena", true)
		d.release("arena", keep)
		require.Equal(t, saved, d.record("arena").Image)
		d.requireUnreadBefore("arena", true)

		other := newDeskAt(t, "b", d.store, Blocks)
		other.take("arena", noBlock)
		require.Equal(t, saved, other.requireTook("arena").image)
		other.requireUnreadBefore("arena", true)
		other.point("arena", nil) // the room has ended for good
		other.requireUnreadBefore("arena", false)
		require.Nil(t, other.record("arena").Image)
	}
}

// A swap without an answer is resolved by reading. A caller that has waited too long may be followed by another one.
func TestImageWithoutAnswer(t *testing.T) {
	d := newDesk(t, "a")
	d.take("arena", noBlock)
	d.held = func(r request) bool { return len(r.swaps) == 1 && r.swaps[0].Key == "room/arena" }
	p := d.point("arena", testImage(7, "a"))
	require.Len(t, d.waiting, 1)
	d.store.serve(d.waiting[0]) // its answer is lost
	second := &pointing{room: "arena", image: testImage(8, "a")}
	d.input(func() { d.machine.point(d.now, second) })
	require.ErrorIs(t, d.outcome("arena").err, errPointing)
	d.run(2 * time.Second)
	require.Equal(t, event{kind: pointed, room: "arena", pointing: p}, d.outcome("arena"))

	p = d.point("arena", testImage(9, "a"))
	d.input(func() { d.machine.withdraw(d.now, p) })
	d.held = nil
	p = d.point("arena", testImage(10, "a"))
	d.run(2 * time.Second)
	require.Equal(t, event{kind: pointed, room: "arena", pointing: p}, d.outcome("arena"))
	require.EqualValues(t, 10, d.record("arena").Image.Tick)

	p = d.point("hall", testImage(1, "a"))
	require.Equal(t, event{kind: pointFailed, room: "hall", pointing: p, err: ErrNotOwner}, d.outcome("hall"))
}

// saveLate lets another node take a room while the present one saves it, and returns what is wrong with that.
func saveLate(t *testing.T) string {
	d := newDesk(t, "a")
	d.take("arena", noBlock)
	d.held = func(r request) bool { return len(r.swaps) == 1 && r.swaps[0].Key == "room/arena" }
	d.point("arena", testImage(7, "a"))
	d.held = nil
	late := d.waiting[0]
	theirs := d.record("arena")
	theirs.Node, theirs.Incarnation, theirs.Nonce, theirs.Epoch, theirs.Image = "b", otherToken, otherToken, 9, testImage(8, "b")
	d.input(func() {
		d.store.serve(request{swaps: []Swap{{"room/arena", encode(theirs), d.store.entries["room/arena"].Revision}}})
	})
	d.input(func() { d.machine.receive(d.now, late.id, d.store.serve(late)) })
	d.run(3 * time.Second)
	if now := d.record("arena"); now.Image.Tick != 8 {
		return fmt.Sprint("C5: the newest image of a room is one of a node that has lost the room: ", now.Image.Name())
	}
	if e := d.outcome("arena"); e.kind != lost {
		return fmt.Sprint("C5: a node that has lost a room continues: event ", e.kind)
	}
	return ""
}

func TestLateSave(t *testing.T) { require.Empty(t, saveLate(t)) }
