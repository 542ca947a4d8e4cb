package main

import (
	"context"
	"fmt"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"

	"github.com/worldd/worldd/server"
)

const (
	// statusEvery is how often a supervisor is told how things stand.
	statusEvery = 10 * time.Second
	// freshTick is how old the newest tick may be for the server to count as
	// alive: what hangs in the game hangs the tick.
	freshTick = 2 * time.Second
	// readyPoll is how often the first tick is looked for.
	readyPoll = 10 * time.Millisecond
)

// supervised tells systemd of a server's life, if it was started by it
// (Type=notify): ready after the first tick, a sign of life for its watchdog as
// long as the world ticks, a line on how things stand, and the end. It returns
// when ctx is done.
func supervised(ctx context.Context, s *server.Server) {
	tell := func(state string) bool {
		sent, _ := daemon.SdNotify(false, state) // a supervisor that does not listen is no reason to end
		return sent
	}
	if !firstTick(ctx, s) || !tell(daemon.SdNotifyReady) {
		return
	}
	defer tell(daemon.SdNotifyStopping)
	watchdog, _ := daemon.SdWatchdogEnabled(false) // 0 if it is not
	every := statusEvery
	if watchdog > 0 {
		every = min(every, watchdog/3)
	}
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	told := time.Time{}
	for {
		r := s.Report()
		if now := time.Now(); now.Sub(told) >= statusEvery {
			told = now
			tell(fmt.Sprintf("STATUS=%d clients, %d entities awake of %d, tick p99 %.2f ms", r.Active, r.World.Awake, r.World.Entities, tickOf(r).P99Ms))
		}
		if watchdog > 0 && time.Since(r.LastTick) < freshTick {
			tell(daemon.SdNotifyWatchdog)
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// firstTick waits for it.
func firstTick(ctx context.Context, s *server.Server) bool {
	poll := time.NewTicker(readyPoll)
	defer poll.Stop()
	for s.Report().LastTick.IsZero() {
		select {
		case <-ctx.Done():
			return false
		case <-poll.C:
		}
	}
	return true
}
