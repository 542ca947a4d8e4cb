package host

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"

	"github.com/worldd/worldd/server"
)

const (
	// statusEvery is the interval of status reports to the supervisor.
	statusEvery = 10 * time.Second
	// freshTick is the age of the newest tick up to which the server counts as alive: a hanging
	// game stops the ticks.
	freshTick = 2 * time.Second
	// readyPoll is the interval of checks for the first tick.
	readyPoll = 10 * time.Millisecond
)

// reportToSupervisor reports to systemd if it started the server (Type=notify or notify-reload). It reports
// readiness after the first tick, watchdog signals while the world ticks, status lines, and the
// end. It returns when ctx is done.
// The process before this one, if there is one, ends after the first tick.
func reportToSupervisor(ctx context.Context, s *server.Server, before *predecessor) {
	tell := func(state string) bool {
		sent, _ := daemon.SdNotify(false, state) // an unreachable supervisor is not an error
		return sent
	}
	if !firstTick(ctx, s) {
		return
	}
	if before != nil {
		_ = before.confirm() // it may have been killed
	}
	if !tell(daemon.SdNotifyReady) {
		return
	}
	defer func() {
		if !errors.Is(context.Cause(ctx), server.ErrHandOver) {
			tell(daemon.SdNotifyStopping)
		}
	}()
	watchdog, _ := daemon.SdWatchdogEnabled(false) // 0 if disabled
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

// firstTick waits for the first tick, and returns false if ctx ends before.
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

// reportReload reports the begin of a reload to systemd, and returns a function that reports its
// end: `systemctl reload` waits for it.
func reportReload() (done func()) {
	_, _ = daemon.SdNotify(false, daemon.SdNotifyReloading+"\n"+daemon.SdNotifyMonotonicUsec())
	return func() { _, _ = daemon.SdNotify(false, daemon.SdNotifyReady) }
}
