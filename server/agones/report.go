package agones

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"go.uber.org/zap"
)

// Status is the state of a server, as far as Agones acts on it.
type Status struct {
	Alive  bool // the worlds tick
	Open   bool // clients can join
	Needed bool // it must not be ended: it has sessions, or rooms on demand
	// The values for the sidecar's counters "rooms" and "players".
	Rooms, Players int
}

// Report reports the server until ctx ends. It returns once the sidecar has answered the calls under way, or after their timeouts, so that none
// arrives after Shutdown. look returns the server's present status, and is called on one of two goroutines.
func (s *Sidecar) Report(ctx context.Context, look func() Status) {
	var both sync.WaitGroup
	both.Go(func() { s.reportHealth(ctx, look) })
	both.Go(func() {
		r := reporter{Sidecar: s, counts: map[string]int{}, absent: map[string]bool{}}
		s.repeat(ctx, s.every, func() { r.report(context.WithoutCancel(ctx), look()) })
	})
	both.Wait()
}

// repeat calls f at once and then at intervals, until ctx ends.
func (s *Sidecar) repeat(ctx context.Context, every time.Duration, f func()) {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for ctx.Err() == nil {
		f()
		select {
		case <-ticker.C:
		case <-ctx.Done():
		}
	}
}

// reportHealth has a goroutine of its own: slow answers to other calls must not make the server look dead.
func (s *Sidecar) reportHealth(ctx context.Context, look func() Status) {
	var trouble trouble
	s.repeat(ctx, 2*s.every, func() {
		if look().Alive {
			trouble.note(s.log, s.post(context.WithoutCancel(ctx), "/health"))
		}
	})
}

// trouble logs the first of several failures in a row, and their end.
type trouble struct{ failing bool }

func (t *trouble) note(log *zap.Logger, err error) {
	failing := err != nil
	if failing && !t.failing {
		log.Warn("the sidecar of Agones does not answer as it should: the calls are repeated", zap.Error(err))
	} else if !failing && t.failing {
		log.Info("the sidecar of Agones answers again")
	}
	t.failing = failing
}

// reporter tells the sidecar what has changed.
type reporter struct {
	*Sidecar
	trouble trouble
	state   string // the call that was made last, for the state of the GameServer
	counts  map[string]int
	absent  map[string]bool // counters that the GameServer does not have
}

func (r *reporter) report(ctx context.Context, s Status) {
	err := r.reportState(ctx, s)
	if err == nil {
		err = errors.Join(r.reportCount(ctx, "rooms", s.Rooms), r.reportCount(ctx, "players", s.Players))
	}
	r.trouble.note(r.log, err)
}

// reportState keeps a server that is needed from being ended. A server that admits nobody stays as it is: ready ones get players.
func (r *reporter) reportState(ctx context.Context, s Status) error {
	state := r.state
	switch {
	case s.Needed:
		state = "/allocate"
	case s.Open:
		state = "/ready"
	}
	if state == r.state {
		return nil
	}
	if r.state == "" && state == "/allocate" { // a GameServer is first ready
		if err := r.post(ctx, "/ready"); err != nil {
			return err
		}
	}
	err := r.post(ctx, state)
	if err == nil {
		r.state = state
	}
	return err
}

// reportCount sets a counter that has changed. Counters are optional in a GameServer.
func (r *reporter) reportCount(ctx context.Context, name string, n int) error {
	if was, told := r.counts[name]; told && was == n || r.absent[name] {
		return nil
	}
	_, err := r.call(ctx, http.MethodPatch, "/v1beta1/counters/"+name, fmt.Sprintf(`{"count":"%d"}`, n))
	answer, refused := errors.AsType[*StatusError](err)
	switch {
	case err == nil:
		r.counts[name] = n
	case refused && (answer.Status == http.StatusNotFound || answer.Status == http.StatusNotImplemented):
		r.absent[name] = true
		r.log.Info("the GameServer has no counter of this name: it is not reported", zap.String("counter", name))
		return nil
	}
	return err
}
