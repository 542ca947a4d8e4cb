package session

import (
	"fmt"

	"github.com/worldd/worldd/replication/wire"
)

const (
	// listBurst bounds the lists of rooms that a connection gets at once, and before its Hello. A session gets one more every
	// listTicks. A list costs a search through all rooms, and up to wire.MaxRoomList bytes: an attacker has to
	// open a connection for every few, and the server bounds connections.
	listBurst = 8
	listTicks = 20
)

// listAllowance counts the lists that a connection has asked for.
type listAllowance struct{ asked, ticks int }

// addTick counts a tick of the session.
func (a *listAllowance) addTick() {
	a.ticks++
	if a.ticks >= listTicks {
		a.ticks, a.asked = 0, max(0, a.asked-1)
	}
}

// spend reports whether the connection may have another list.
func (a *listAllowance) spend() bool {
	a.asked++
	return a.asked <= listBurst
}

// answerList answers a ListRooms on the connection's goroutine, which holds the inbox's mutex. The list passes messages that wait
// for the disk: it says nothing about a world.
func (p *Peer) answerList(body []byte) error {
	asked, err := wire.Parse[wire.ListRooms](body)
	switch {
	case err != nil:
		return err
	case !p.inbox.spendList():
		return &wire.Error{Code: wire.TooFast, Detail: fmt.Sprintf("more than %d lists of rooms", listBurst)}
	}
	var list wire.RoomList
	if p.router != nil && p.router.config.List != nil {
		p.inbox.callUnlocked(func() { list = p.router.config.List(asked) })
	}
	if !p.link.SendStream(wire.AppendMessage(nil, list)) {
		return &wire.Error{Code: wire.TooSlow, Detail: "the client does not read its lists of rooms"}
	}
	return nil
}
