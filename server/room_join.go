package server

// Which run of a room a client joins, and a session moves to.

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/server/session"
)

func noRoom(name string) *wire.Error {
	return &wire.Error{Code: wire.NoRoom, Detail: fmt.Sprintf("there is no room %q", name)}
}

// awaitOpen waits until r is open, and returns its run. The error is for clients.
func (m *rooms) awaitOpen(ctx context.Context, r *Room) (*run, error) {
	for {
		m.mu.Lock()
		ready := r.ready
		m.mu.Unlock()
		select {
		case <-ready:
		case <-ctx.Done():
			return nil, &wire.Error{Code: wire.Internal, Detail: "the room was not ready in time"}
		}
		m.mu.Lock()
		if r.state != roomOpening { // else it has failed, and is made again already
			defer m.mu.Unlock()
			return m.admittingRun(r)
		}
		m.mu.Unlock()
	}
}

// admittingRun returns the run of a room that admits new sessions. Callers hold m.mu.
func (m *rooms) admittingRun(r *Room) (*run, error) {
	switch {
	case r.state == roomFailed:
		return nil, forClients(r.err)
	case m.cordons.isClosed(r.name, time.Now()):
		return nil, errCordoned
	case r.state != roomOpen || !r.deadline.IsZero() || r.eviction != nil:
		return nil, errClosing
	case r.run.Load().loop.silentSince(r.opened) > staleTick:
		return nil, errStalled
	}
	r.lastUsed = time.Now()
	return r.run.Load(), nil
}

// forClients returns the error that a client receives: err itself if it has a code, otherwise
// Internal without details.
func forClients(err error) error {
	if e := (*wire.Error)(nil); errors.As(err, &e) {
		return e
	}
	if isOutOfDescriptors(err) {
		return &wire.Error{Code: wire.ServerFull, Detail: "the server has too many open files"}
	}
	return &wire.Error{Code: wire.Internal, Detail: "the room cannot be made"}
}

// joinRoom returns the room for a new session, or sends its client to the node that has the room.
func (m *rooms) joinRoom(ctx context.Context, name, address string, a Admission) (*run, error) {
	now, err := m.joinHere(ctx, name, address, a)
	if isMoved(err) {
		return nil, m.sendElsewhere(ctx, cmp.Or(name, m.config.Default), m.boundedAddress(address), a, err)
	}
	return now, err
}

// joinHere returns the room for a new session: the one that the client or its token names, or the
// default one. It waits until the room is made. The error has the code Moved if another node has the room.
func (m *rooms) joinHere(ctx context.Context, name, address string, a Admission) (*run, error) {
	ctx, cancel := context.WithTimeout(ctx, session.HelloTimeout)
	defer cancel()
	by := byClient
	address = m.boundedAddress(address)
	if a.Room != "" && a.Room == name {
		by, address = byToken, "" // a token is issued to this client
	}
	name = cmp.Or(name, m.config.Default)
	if name == "" {
		return nil, &wire.Error{Code: wire.NoRoom, Detail: "Hello names no room, and the server has no default one"}
	}
	if moved := m.redirection(name); moved != nil {
		return nil, moved
	}
	if !m.hasSeat(name, a.User) {
		switch {
		case m.countPlaces() >= m.maxSessions():
			return nil, &wire.Error{Code: wire.ServerFull}
		case by == byClient && m.visibilityOf(name) == Private:
			return nil, noRoom(name)
		}
	}
	if by == byToken && m.isStored(name) {
		if err := m.searches.awaitTurn(ctx, ""); err != nil {
			return nil, err
		}
		by = byGame // it was made once, and may have seats
	}
	r, err := m.findRoom(name, by, address)
	if err != nil {
		return nil, err
	}
	now, err := m.awaitOpen(ctx, r)
	if by == byClient && m.visibilityOf(name) == Private && !m.hasSeat(name, a.User) { // New has made it private
		return nil, noRoom(name)
	}
	return now, err
}

// boundedAddress returns the address that a client's rooms count for, or "": loopback is exempt as in MaxSessionsPerAddress.
func (m *rooms) boundedAddress(address string) string {
	if m.process.MaxSessionsPerAddress == 0 && isLoopback(address) {
		return ""
	}
	return address
}

// isLoopback reports whether address, a prefix, belongs to this machine.
func isLoopback(address string) bool {
	p, err := netip.ParsePrefix(address)
	return err == nil && p.Addr().IsLoopback()
}

// findForMove returns the room to which session mover moves, or nil while the room is being made. If a query has
// chosen the room while it was being made for another session, the room must suit the query when it opens.
func (m *rooms) findForMove(name string, mover uint64) (*run, error) {
	if m.isElsewhere(name) {
		return nil, session.ErrElsewhere
	}
	r, err := m.findRoom(name, byGame, "")
	if err != nil {
		return nil, err
	}
	m.mu.Lock()
	opening := r.state == roomOpening
	var now *run
	if !opening {
		now, err = m.admittingRun(r)
	}
	m.mu.Unlock()
	if isMoved(err) {
		return nil, session.ErrElsewhere
	}
	if !opening && r.maker != 0 && !m.directory.admitExpected(r, mover) {
		return nil, errUnsuited
	}
	return now, err
}
