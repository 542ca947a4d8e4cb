package server

import (
	"errors"
	"math"
	"time"

	"go.uber.org/zap"

	"github.com/worldd/worldd/replication/wire"
)

// End ends the room for good, as a game does with a match that is over: after the present tick, or the next one if
// another goroutine than the room's calls it. Messages of that tick still leave, and sessions that Move to an open room go there. The
// others end with RoomClosed and reason, which clients do not retry, and Leave is called for them. Image, journal and lock are
// removed, and do not count in MaxImages, unless a journal has sessions that moved and that no other room has on its disk: the room is
// saved then, and a client that resumes such a session makes it again. With JournalAlways clients learn of the end once no crash can undo
// it; otherwise a crash in that moment may bring the room back.
//
// For a minute clients and tokens cannot make the room again; the game and the operator can. The sessions of a pinned
// room end with Draining instead: the room begins again with a new world. End returns ErrNotRooms in a
// server of one world. A nil Room does nothing. Any goroutine may call End, and the first reason counts.
func (r *Room) End(reason string) error {
	if r == nil {
		return nil
	}
	if r.stop == nil {
		return ErrNotRooms
	}
	r.ended.CompareAndSwap(nil, &reason)
	r.stop()
	return nil
}

// markEnded makes the end of the world durable, in the cluster before on the disk.
func (r *run) markEnded() error {
	if r.pointer != nil {
		if err := r.pointer.forget(); err != nil {
			return err
		}
	}
	return r.store.MarkEnded()
}

// errKept says that a room was to end for good, and that its disk keeps the sessions that no other room has.
var errKept = errors.New("server: the room is saved for its sessions")

// endAndRemove ends all sessions after the last tick, and removes the files of the world. If they cannot be removed, the
// world is saved as at another end, and so it is if it has the only durable notes of sessions that have moved.
func (r *run) endAndRemove() error {
	if r.store == nil {
		return r.endAndSave()
	}
	r.loop.saver.saving.Wait()
	if r.core.Active() > 0 {
		time.Sleep(lastSnapshotWait)
	}
	r.loop.endSessions()
	missing := r.awaitDepartures()
	if missing > 0 && r.loop.journal != nil { // the disk of no other room has them
		r.log.Warn("the room has ended, but is saved: sessions that have moved are not on the disks of their rooms", zap.Int("sessions", missing))
		r.core.EndWith(wire.Error{Code: wire.Draining}) // clients of sessions that have returned come again, which restores the room
		if err := r.saveEnded(); err != nil {
			return err
		}
		return errKept
	}
	if r.core.EndForGood() > 0 {
		r.saveArrivals()
	}
	if err := r.loop.saver.descriptors.saveWithSpares(r.markEnded); err != nil {
		r.log.Error("the room has ended, but is saved: its files cannot be removed", zap.Error(err))
		return r.saveEnded()
	}
	_ = r.loop.journal.end() // its ticks are not needed any more
	r.core.Release(math.MaxUint64)
	r.core.Close()
	if err := r.loop.saver.descriptors.saveWithSpares(r.store.Remove); err != nil {
		r.log.Warn("not all files of the room that has ended are removed: the next start removes them", zap.Error(err))
	}
	return nil
}
