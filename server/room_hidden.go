package server

import (
	"context"
	"errors"

	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/server/session"
)

// hiddenFrom returns why a client must not learn that another node has a room, or nil (R8). Only that node knows whether the room is
// private. Without its answer a room of a private kind counts as private, and the client asks again.
func (m *rooms) hiddenFrom(ctx context.Context, q seatQuestion) *wire.Error {
	var unasked *wire.Error
	if m.visibilityOf(q.Room) == Private && q.By != byToken {
		unasked = errNotThere
	}
	if !m.process.Cluster.Reaches(q.Room) {
		return unasked
	}
	ctx, cancel := context.WithTimeout(ctx, session.HelloTimeout)
	defer cancel()
	q.Ask = askShow
	_, _, err := m.ask(ctx, q)
	why := (*wire.Error)(nil)
	switch {
	case err == nil:
		return nil
	case !errors.As(err, &why):
		return errNotThere
	case why.Code == wire.BadArguments: // an older program
		return unasked
	}
	return why
}

// show answers another node whether a client may know of a room of this one.
func (m *rooms) show(ctx context.Context, q seatQuestion) error {
	if m.visibilityOf(q.Room) != Private || q.By == byToken || m.hasSeat(q.Room, q.User) {
		return nil
	}
	if r := m.existingRoom(q.Room); r != nil && q.Run != 0 {
		now := r.run.Load()
		if now != nil && now.core.Config().Epoch == q.Run {
			return nil
		}
	}
	stored, err := m.hasStoredRun(ctx, q.Room, q.Address, q.Run)
	if err == nil && !stored {
		err = noRoom(q.Room)
	}
	return err
}
