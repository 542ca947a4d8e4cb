package server

import (
	"context"
	"fmt"
	"runtime/debug"
	"time"

	"go.uber.org/zap"

	"github.com/worldd/worldd/replication/wire"
)

// hostRoom makes a room and runs it until it ends. After a panic it is restored from its newest
// image, unless it was draining. The goroutine owns the room's name, file and generations until it
// returns.
func (m *rooms) hostRoom(ctx context.Context, k *kind, r *Room) {
	defer r.stop()
	defer m.removeRoom(k, r)
	for {
		next, err := m.buildRun(ctx, k, r)
		if err != nil {
			err = explainDescriptors(err)
			r.logger(m.log).Error("the room cannot be made", zap.Error(err))
			if !m.failRoom(ctx, r, err, brokenFor, k.isPinned(r)) {
				return
			}
			continue
		}
		r.logger(m.log).Info("the room is open", zap.Uint64("epoch", next.core.Config().Epoch), zap.Uint64("tick", next.core.World().Tick()))
		m.openRoom(r, next)
		panicked := m.serveRoom(ctx, r, next)
		m.retireRun(k, r, next)
		restores := k.isPinned(r) || panicked && next.store != nil && !m.isDraining(r)
		switch {
		case ctx.Err() != nil || !restores:
			return
		case panicked && m.panicsAgain(r):
			r.logger(m.log).Error("the room has panicked too often: it stays closed for a while", zap.Duration("for", failedFor))
			if !m.failRoom(ctx, r, errFailed, failedFor, true) {
				return
			}
		default:
			m.reopenRoom(r)
		}
	}
}

// isDraining reports whether r was told to end when it is empty, as it is after a panic.
func (m *rooms) isDraining(r *Room) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return !r.deadline.IsZero() || r.eviction != nil
}

func (r *Room) logger(log *zap.Logger) *zap.Logger { return log.With(zap.String("room", r.name)) }

// isPinned reports whether r is the kind's pinned room.
func (k *kind) isPinned(r *Room) bool { return k.Pinned && r.id == "" }

// openRoom admits sessions to the room.
func (m *rooms) openRoom(r *Room, next *run) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.applySettings(next)
	r.run.Store(next)
	now := time.Now()
	r.state, r.err, r.lastUsed, r.opened = roomOpen, nil, now, now
	close(r.ready)
}

// reopenRoom makes clients that join wait for the next run.
func (m *rooms) reopenRoom(r *Room) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r.setOpening()
}

// setOpening makes clients that join wait for the next run. Callers hold rooms.mu.
func (r *Room) setOpening() {
	r.state, r.err, r.ready, r.deadline = roomOpening, nil, make(chan struct{}), time.Time{}
}

// failRoom refuses clients with err for a time. It reports whether the room has then reopened: if
// reopens is set, or at once if the operator creates it.
func (m *rooms) failRoom(ctx context.Context, r *Room, err error, lasts time.Duration, reopens bool) bool {
	retry := make(chan struct{})
	m.mu.Lock()
	opening := r.state == roomOpening
	r.state, r.err, r.retry = roomFailed, err, retry
	if opening {
		close(r.ready)
	}
	m.mu.Unlock()
	select {
	case <-time.After(lasts):
	case <-retry:
	case <-ctx.Done():
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case r.state == roomOpening: // the operator was faster
		return true
	case ctx.Err() != nil || !reopens:
		r.state = roomEnding
		return false
	}
	r.setOpening()
	return true
}

// removeRoom frees the room's name.
func (m *rooms) removeRoom(k *kind, r *Room) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.byName, r.name)
	close(r.gone)
	r.endEviction(true)
	k.rooms--
}

// serveRoom runs the room until it ends, and reports whether it panicked.
func (m *rooms) serveRoom(ctx context.Context, r *Room, now *run) (panicked bool) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	now.loop.second = func() {
		if m.isOver(r, now, time.Now()) {
			stop()
		}
	}
	return !m.runApart(func() {
		err := now.serveUntil(ctx, func() { m.setEnding(r, now) })
		if err == nil {
			now.log.Info("the room has ended")
			return
		}
		now.log.Error("the room has ended with an error", zap.Error(err))
		m.mu.Lock()
		defer m.mu.Unlock()
		if m.closing {
			m.unsaved = append(m.unsaved, fmt.Errorf("server: room %s: %w", r.name, err))
		}
	}, func(value any) { m.abandonRun(r, now, value) })
}

// runApart calls f on a goroutine of its own, which runtime.Goexit in the game may end. If f panics
// or ends its goroutine, runApart calls failed, still on f's stack, and reports false.
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

// abandonRun ends the sessions of a run that has panicked. The world may be half changed, so it is
// neither stepped nor saved again.
func (m *rooms) abandonRun(r *Room, was *run, value any) {
	was.log.Error("the room panicked: its sessions end", zap.Uint64("session", was.core.Panicking()),
		zap.String("panic", fmt.Sprint(value)), zap.ByteString("stack", debug.Stack()))
	m.mu.Lock()
	r.state = roomEnding
	m.kinds[r.kind].panics++
	m.mu.Unlock()
	was.core.Abandon(errFailed)
	was.loop.saver.saving.Wait()
}

// setEnding prepares the end of a run: clients of a room that stays closed do not try again.
func (m *rooms) setEnding(r *Room, now *run) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r.state = roomEnding
	if !m.closing && m.cordons.isClosed(r.name, time.Now()) {
		now.core.EndWith(wire.RoomClosed)
	}
}

// isOver reports whether the room should end: it had no session for its kind's IdleAfter, it is
// evicted, or draining is over. If so, it admits no more sessions. It is called once a second, on the
// goroutine that owns the world.
func (m *rooms) isOver(r *Room, now *run, at time.Time) bool {
	n := now.core.Len()
	k := m.kinds[r.kind]
	m.mu.Lock()
	defer m.mu.Unlock()
	if n > 0 {
		r.lastUsed = at
	}
	empty := at.Sub(r.lastUsed)
	idle := !r.deadline.IsZero() || r.eviction != nil || k.IdleAfter > 0 && empty >= k.IdleAfter && !k.isPinned(r)
	if idle && n == 0 && now.core.CloseIfEmpty() || !r.deadline.IsZero() && !at.Before(r.deadline) {
		r.state = roomEnding
		return true
	}
	r.endEviction(false)
	return false
}

// callEnded calls RoomGame.Ended, if set.
func (m *rooms) callEnded(r *Room, ended func()) {
	if ended != nil {
		_ = m.callGame(r, "Ended", func() error { // logs
			ended()
			return nil
		})
	}
}

// retireRun releases what a run holds, and adds its figures to the kind's.
func (m *rooms) retireRun(k *kind, r *Room, was *run) {
	m.callEnded(r, was.ended)
	report, ticks := was.loop.report(), was.loop.tickDurations()
	was.core.Close() // ends its goroutines also after a panic
	was.core.World().Close()
	if was.store != nil {
		_ = was.store.Close() // everything is on disk, or failed
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	r.run.Store(nil)
	if report.Images.Saved > 0 {
		delete(m.older, r.name) // later runs continue this one
	}
	k.addPast(report, ticks)
	m.ranges.releaseBlock(was.block)
}

// panicsAgain counts a panic of r, and reports whether there were too many.
func (m *rooms) panicsAgain(r *Room) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := time.Now()
	for name, all := range m.panics { // few rooms panic
		for len(all) > 0 && now.Sub(all[0]) > restartWindow {
			all = all[1:]
		}
		if len(all) == 0 {
			delete(m.panics, name)
		} else {
			m.panics[name] = all
		}
	}
	m.panics[r.name] = append(m.panics[r.name], now)
	return len(m.panics[r.name]) > maxRestarts
}
