package server

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/worldd/worldd/internal/admin"
	"github.com/worldd/worldd/internal/quicserve"
	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/server/session"
)

// CreateRoom makes a room that does not exist or has failed, or opens a drained one, and waits
// until clients can join it. A server without Config.Rooms returns ErrNotRooms. Any goroutine
// may call it.
func (s *Server) CreateRoom(ctx context.Context, name string) error {
	if s.rooms == nil {
		return ErrNotRooms
	}
	return s.rooms.createRoom(ctx, name)
}

// DrainRoom refuses new sessions of a room, and ends the room when it is empty or after within,
// at once if within is 0. The world is saved if its kind is. A draining room that panics is not
// restored. The name stays closed until CreateRoom opens it, the server restarts, or 24 h have
// passed. Session.Move cannot open it, and clients are refused with RoomClosed, which they do
// not retry. The remaining sessions end with RoomClosed. A pinned room begins again instead,
// and its sessions end with Draining. If there is no such room, the error is a *wire.Error with
// NoRoom. A server without Config.Rooms returns ErrNotRooms. Any goroutine may call it.
func (s *Server) DrainRoom(name string, within time.Duration) error {
	if s.rooms == nil {
		return ErrNotRooms
	}
	return s.rooms.drainRoom(name, within)
}

// ReloadRooms calls RoomGame.Reload of each open room, and sets the limits that it returns. It
// does not wait for the rooms. A failure is logged, and leaves the room's limits unchanged. Any
// goroutine may call it.
func (s *Server) ReloadRooms(ctx context.Context) {
	if s.rooms != nil {
		s.rooms.reloadAll(ctx)
	}
}

// Cordon refuses clients that begin a session, with Draining. Sessions play on, resume, and move
// between rooms. /readyz fails until Uncordon. Any goroutine may call both.
func (s *Server) Cordon() {
	s.gate().Cordon()
	s.log.Info("cordon", zap.Bool("on", true))
}

// Uncordon undoes Cordon.
func (s *Server) Uncordon() {
	s.gate().Uncordon()
	s.log.Info("cordon", zap.Bool("on", false))
}

// Cordoned reports whether Cordon refuses clients that begin a session. Any goroutine may call it.
func (s *Server) Cordoned() bool { return s.gate().Cordoned() }

// Sessions returns the number of sessions, connected or away, and of connections without one, after
// the newest tick. Report's figures are up to a second old. Any goroutine may call it.
func (s *Server) Sessions() int {
	if s.rooms != nil {
		return s.rooms.countSessions()
	}
	return int(s.room.run.Load().loop.sessions.Load())
}

// gate returns the gate of new sessions.
func (s *Server) gate() *session.Gate {
	if s.rooms != nil {
		return &s.rooms.router.Gate
	}
	return &s.room.run.Load().core.Gate
}

// allRooms returns the rooms by name.
func (s *Server) allRooms() []*Room {
	if s.rooms == nil {
		return []*Room{s.room}
	}
	return s.rooms.sortedRooms()
}

func (s *Server) adminConfig() admin.Config {
	c := admin.Config{
		Listen: s.config.AdminListen, Socket: s.config.Sockets.admin(), Game: s.config.GameName, Version: s.config.Versions.Game, Access: admin.Access(s.config.AdminAccess), Log: s.log, Audit: auditLogger(s.log), Quic: s.quic, Timings: s.timings,
		Report: s.report, Rooms: s.shownRooms, Signal: s.Signal, ReserveSeats: s.ReserveSeats, Routes: s.config.AdminRoutes, Collectors: s.config.Collectors,
		Cordon: s.Cordon, Uncordon: s.Uncordon, Cordoned: s.Cordoned,
	}
	if s.config.Certificate != nil {
		c.GameCertificate = s.quic.Certificate
	}
	if s.rooms == nil {
		only := s.room.run.Load()
		c.Schema, c.Ticks = only.core.Config().Schema, only.loop.tickDurations
		c.Draining, c.MaxSessions = only.core.Draining, only.core.MaxSessions
		c.Drain = func(ctx context.Context, why wire.Error) error {
			only.core.EndWith(why)
			return only.loop.runBetweenTicks(ctx, only.core.Drain)
		}
		c.Kick = func(ctx context.Context, id uint64, reason string) (found bool, err error) {
			err = only.loop.runBetweenTicks(ctx, func() {
				if s := only.core.Session(id); s != nil {
					found = true
					s.Kick(reason)
				}
			})
			return found, err
		}
		return c
	}
	c.Ticks, c.Kinds, c.Refused = s.rooms.tickDurations, s.rooms.kindReports, s.rooms.router.Stats
	c.StoredImages = s.rooms.images.countImages
	c.CreateRoom, c.DrainRoom = s.rooms.createRoom, s.rooms.drainRoom
	c.Kick = func(_ context.Context, id uint64, reason string) (bool, error) {
		return s.rooms.router.Kick(id, reason), nil
	}
	if s.config.Cluster != nil {
		c.Cluster, c.MoveRoom, c.MoveRooms = s.rooms.clusterReport, s.MoveRoom, s.MoveRooms
	}
	c.Drain, c.Draining, c.MaxSessions = s.rooms.drainAll, s.rooms.refusesSessions, s.rooms.maxSessions
	return c
}

// shownRooms returns the rooms for the admin port.
func (s *Server) shownRooms() []admin.Room {
	rooms := s.allRooms()
	all := make([]admin.Room, len(rooms))
	for i, r := range rooms {
		all[i] = admin.Room{Name: r.name, Kind: r.kind, State: s.stateOf(r)}
		if s.rooms != nil {
			l := r.Listing()
			all[i].Visibility, all[i].Attributes = l.Visibility.String(), l.Attributes
		}
		if now := r.run.Load(); now != nil {
			all[i].Core, all[i].Report, all[i].Ask = now.core, now.loop.report, now.loop.runBetweenTicks
		}
	}
	if s.rooms == nil {
		return all
	}
	for _, name := range s.rooms.closedRooms() {
		kind, _, _ := strings.Cut(name, "/")
		all = append(all, admin.Room{Name: name, Kind: kind, State: "closed"})
	}
	slices.SortFunc(all, func(a, b admin.Room) int { return cmp.Compare(a.Name, b.Name) })
	return all
}

func (s *Server) stateOf(r *Room) string {
	if s.rooms != nil {
		s.rooms.mu.Lock()
		defer s.rooms.mu.Unlock()
	}
	now := r.run.Load()
	switch {
	case r.state == roomOpen && now.loop.permit.isFrozen():
		return "frozen"
	case r.state == roomOpen && now.loop.silentSince(r.opened) > staleTick:
		return "stalled"
	case r.state == roomOpen && !r.deadline.IsZero():
		return "draining"
	case r.eviction != nil:
		return roomEnding.String()
	}
	return r.state.String()
}

// connectionOpener returns the function that opens connections, and one that reports whether
// the server drains.
func (s *Server) connectionOpener() (opener quicserve.Opener, draining func() bool) {
	if s.rooms != nil {
		return s.rooms.router, s.rooms.refusesSessions
	}
	only := s.room.run.Load()
	return only.core, only.core.Draining
}
