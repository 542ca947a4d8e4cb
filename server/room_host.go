package server

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"go.uber.org/zap"

	"github.com/worldd/worldd/replication/wire"
)

// roomLife makes one room and runs it until it ends, on its own goroutine. The goroutine owns
// the room's name, file and generations. rooms.mu guards the fields that other goroutines read
// too.
type roomLife struct {
	rooms *rooms
	kind  *kind
	room  *Room
	// grant is the permission of the cluster, nil without a cluster and outside of hostRoom. blockUsed: a run has begun in
	// the grant's block. Only the goroutine of hostRoom uses both.
	grant     RoomGrant
	blockUsed bool
	awaited   *arrival // for which the newest attempt to make the room has waited
	unmade    string   // the newest error that was logged
}

// lifeOf returns the life of a room.
func (m *rooms) lifeOf(r *Room) *roomLife { return &roomLife{rooms: m, kind: m.kinds[r.kind], room: r} }

// hostRoom makes the room and runs it until it ends. After a panic it is restored from its newest
// image, unless it was draining.
func (l *roomLife) hostRoom(ctx context.Context) {
	defer l.room.stop()
	defer l.removeRoom()
	defer l.releaseRoom()
	for {
		changed := l.clusterChange()
		next, err := l.buildRun(ctx)
		if err != nil {
			err = explainDescriptors(err)
			l.logUnmade(err)
			lasts := brokenFor
			switch {
			case errors.Is(err, ErrCrashLoop):
				lasts = failedFor // each attempt repeats the journal
			case isMoved(err) && l.kind.isPinned(l.room):
				lasts = standbyFor
			default:
				changed = nil
			}
			if !l.failRoom(ctx, err, lasts, changed, l.kind.isPinned(l.room)) {
				return
			}
			continue
		}
		l.room.logger(l.rooms.log).Info("the room is open", epochField(next.core.Config().Epoch), zap.Uint64("tick", next.core.World().Tick()))
		l.openRoom(next)
		isSaved := next.store != nil
		panicked := l.serveRoom(ctx, next)
		stays := l.finishMove(ctx, next, panicked)
		l.retireRun(next)
		restores := l.kind.isPinned(l.room) || stays || panicked && isSaved && !l.isDraining()
		switch {
		case ctx.Err() != nil || !restores:
			return
		case panicked && l.panicsAgain():
			l.room.logger(l.rooms.log).Error("the room has panicked too often: it stays closed for a while", zap.Duration("for", failedFor))
			if !l.failRoom(ctx, errFailed, failedFor, nil, true) {
				return
			}
		default:
			l.reopenRoom()
		}
	}
}

// clusterChange returns a channel that is closed when a pinned room of another node may have become free, or nil.
func (l *roomLife) clusterChange() <-chan struct{} {
	if l.rooms.process.Cluster == nil || !l.kind.isPinned(l.room) {
		return nil
	}
	return l.rooms.process.Cluster.Changed(l.room.name)
}

// logUnmade logs why the room cannot be made.
func (l *roomLife) logUnmade(err error) {
	log := l.room.logger(l.rooms.log)
	if isMoved(err) {
		log.Debug("another node has the room", zap.Error(err))
		return
	}
	if text := err.Error(); text != l.unmade || errors.Is(err, ErrCrashLoop) { // else a pinned room is made again each second
		l.unmade = text
		log.Error("the room cannot be made", zap.Error(err))
	}
}

// isDraining reports whether r was to end when it is empty. After a panic it is empty.
func (l *roomLife) isDraining() bool {
	l.rooms.mu.Lock()
	defer l.rooms.mu.Unlock()
	return !l.room.deadline.IsZero() || l.room.eviction != nil
}

func (r *Room) logger(log *zap.Logger) *zap.Logger { return log.With(zap.String("room", r.name)) }

// isPinned reports whether r is the kind's pinned room.
func (k *kind) isPinned(r *Room) bool { return k.Pinned && r.id == "" }

// openRoom admits sessions to the room.
func (l *roomLife) openRoom(next *run) {
	l.rooms.mu.Lock()
	defer l.rooms.mu.Unlock()
	l.rooms.applySettings(next)
	l.room.run.Store(next)
	now := time.Now()
	l.room.state, l.room.err, l.room.lastUsed, l.room.opened, l.room.arrival = roomOpen, nil, now, now, nil
	close(l.room.ready)
}

// reopenRoom makes joining clients wait for the next run.
func (l *roomLife) reopenRoom() {
	l.rooms.mu.Lock()
	defer l.rooms.mu.Unlock()
	l.room.setOpening()
}

// setOpening makes joining clients wait for the next run. Callers hold rooms.mu.
func (r *Room) setOpening() {
	r.state, r.err, r.ready, r.deadline = roomOpening, nil, make(chan struct{}), time.Time{}
}

// failRoom refuses clients with err for a time, or until changed is closed. It returns true if the room reopens: after that
// time if reopens is set, or as soon as the operator creates it.
func (l *roomLife) failRoom(ctx context.Context, err error, lasts time.Duration, changed <-chan struct{}, reopens bool) bool {
	retry := make(chan struct{})
	l.rooms.mu.Lock()
	opening := l.room.state == roomOpening
	if opening && l.room.arrival != l.awaited { // the room comes from another node
		l.rooms.mu.Unlock()
		return true
	}
	l.room.state, l.room.err, l.room.retry, l.room.arrival = roomFailed, err, retry, nil
	if opening {
		close(l.room.ready)
	}
	l.rooms.mu.Unlock()
	select {
	case <-time.After(lasts):
	case <-changed:
	case <-retry:
	case <-ctx.Done():
	}
	l.rooms.mu.Lock()
	defer l.rooms.mu.Unlock()
	switch {
	case l.room.state == roomOpening: // the operator has created it meanwhile
		return true
	case ctx.Err() != nil || !reopens:
		l.room.state = roomEnding
		return false
	}
	l.room.setOpening()
	return true
}

// removeRoom frees the room's name.
func (l *roomLife) removeRoom() {
	l.rooms.mu.Lock()
	defer l.rooms.mu.Unlock()
	delete(l.rooms.byName, l.room.name)
	close(l.room.gone)
	l.room.endEviction(true)
	l.kind.rooms--
}

// serveRoom runs the room until it ends, and reports whether it panicked.
func (l *roomLife) serveRoom(ctx context.Context, now *run) (panicked bool) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	l.rooms.mu.Lock()
	l.room.endRun = stop
	l.rooms.mu.Unlock()
	calls := now.core.Stats().Calls
	now.loop.second = func() {
		ran := now.core.Stats().Calls
		if l.isOver(now, ran > calls, time.Now()) {
			stop()
		}
		calls = ran
	}
	return !l.rooms.runApart(func() {
		err := now.serveUntil(ctx, func() runEnd { return l.setEnding(now) })
		if errors.Is(err, errKept) {
			l.openName()
			err = nil
		}
		switch {
		case err == nil:
			now.log.Info("the room has ended")
			return
		case errors.Is(err, errLost):
			l.leaveLost(now)
			return
		case errors.Is(err, errMayNotSave):
			l.setEnding(now)
			now.abandon(&wire.Error{Code: wire.Draining})
		}
		now.log.Error("the room has ended with an error", zap.Error(err))
		l.rooms.mu.Lock()
		defer l.rooms.mu.Unlock()
		if l.rooms.closing {
			l.rooms.unsaved = append(l.rooms.unsaved, fmt.Errorf("server: room %s: %w", l.room.name, err))
		}
	}, func(value any) { l.abandonRun(now, value) })
}

// runApart calls f on its own goroutine, which runtime.Goexit in the game may end. If f panics
// or ends its goroutine, runApart calls failed, still on f's stack, and returns false.
func (m *rooms) runApart(f func(), failed func(value any)) (returned bool) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() {
			if returned {
				return
			}
			value := recover()
			switch {
			case value == nil:
				value = "runtime.Goexit"
			case m.process.PanicEnds:
				panic(value)
			}
			failed(value)
		}()
		f()
		returned = true
	}()
	<-done
	return returned
}

// abandonRun ends the sessions of a run that has panicked. The world may be half changed, so it
// is not stepped or saved again.
func (l *roomLife) abandonRun(was *run, value any) {
	was.log.Error("the room panicked: its sessions end", zap.Uint64("session", was.core.Panicking()),
		zap.String("panic", fmt.Sprint(value)), zap.ByteString("stack", debug.Stack()))
	l.rooms.mu.Lock()
	l.room.state = roomEnding
	l.kind.panics++
	l.rooms.mu.Unlock()
	was.abandon(errFailed)
}

// setEnding prepares the end of a run, and returns how it ends. Clients of a room that stays
// closed receive a code that they do not retry.
func (l *roomLife) setEnding(now *run) runEnd {
	l.rooms.mu.Lock()
	defer l.rooms.mu.Unlock()
	l.room.state = roomEnding
	reason := l.room.ended.Load()
	switch {
	case reason != nil && l.kind.isPinned(l.room):
		now.core.EndWith(wire.Error{Code: wire.Draining, Detail: *reason})
		return endForGood
	case reason != nil:
		l.rooms.ended.closeUntil(l.room.name, time.Now().Add(endedLasts))
		now.core.EndWith(wire.Error{Code: wire.RoomClosed, Detail: *reason})
		return endForGood
	case l.room.move != nil && l.room.move.agreed:
		return endMoved
	case l.rooms.closing && l.room.deadline.IsZero() && l.room.eviction == nil: // a room that was to end does not come back
		return endServer
	case l.rooms.cordons.isClosed(l.room.name, time.Now()):
		now.core.EndWith(wire.Error{Code: wire.RoomClosed})
	}
	return endRun
}

// openName lets clients make a room again that has ended, for the sessions that it has kept.
func (l *roomLife) openName() {
	l.rooms.mu.Lock()
	defer l.rooms.mu.Unlock()
	delete(l.rooms.ended, l.room.name)
}

// isOver reports whether the room should end: it had no session and no call for its kind's
// IdleAfter, it is evicted, or draining is over. If so, it admits no more sessions. It is called
// once a second, on the goroutine that owns the world. called tells whether a call ran since.
func (l *roomLife) isOver(now *run, called bool, at time.Time) bool {
	n := now.core.Len()
	_, kept, _ := now.core.Places()
	n += kept
	l.rooms.mu.Lock()
	defer l.rooms.mu.Unlock()
	if n > 0 || called {
		l.room.lastUsed = at
	}
	empty := at.Sub(l.room.lastUsed)
	idle := !l.room.deadline.IsZero() || l.room.eviction != nil || l.kind.IdleAfter > 0 && empty >= l.kind.IdleAfter && !l.kind.isPinned(l.room)
	if idle && n == 0 && now.core.CloseIfEmpty() || !l.room.deadline.IsZero() && !at.Before(l.room.deadline) {
		l.room.state = roomEnding
		return true
	}
	l.room.endEviction(false)
	return false
}

// callEnded calls RoomGame.Ended, if set.
func (l *roomLife) callEnded(ended func()) {
	if ended != nil {
		_ = l.callGame("Ended", func() error { // logs the panic
			ended()
			return nil
		})
	}
}

// retireRun releases the resources of a run, and adds its figures to the kind's.
func (l *roomLife) retireRun(was *run) {
	l.callEnded(was.ended)
	report, ticks := was.loop.report(), was.loop.tickDurations()
	was.core.Close() // ends its goroutines, even after a panic
	was.core.World().Close()
	was.closeStore()
	was.loop.permit.endFreeze(time.Now())
	l.rooms.mu.Lock()
	defer l.rooms.mu.Unlock()
	l.room.run.Store(nil)
	if report.Images.Saved > 0 || l.room.ended.Load() != nil {
		delete(l.rooms.older, l.room.name) // later runs continue from this run's image
	}
	l.kind.addPast(report, ticks)
	if l.rooms.process.Cluster == nil {
		l.rooms.ranges.releaseBlock(was.block)
	}
}

// panicsAgain counts a panic of the room, and reports whether there were too many.
func (l *roomLife) panicsAgain() bool {
	l.rooms.mu.Lock()
	defer l.rooms.mu.Unlock()
	return l.rooms.panics.countPanic(l.room.name, time.Now()) > maxRestarts
}

// panicTimes holds, by name, when rooms have panicked within restartWindow.
type panicTimes map[string][]time.Time

// countPanic adds a panic of a room, and returns how many it had within restartWindow.
func (p panicTimes) countPanic(name string, now time.Time) int {
	for name, all := range p { // few rooms panic, so the list is short
		for len(all) > 0 && now.Sub(all[0]) > restartWindow {
			all = all[1:]
		}
		if len(all) == 0 {
			delete(p, name)
		} else {
			p[name] = all
		}
	}
	p[name] = append(p[name], now)
	return len(p[name])
}
