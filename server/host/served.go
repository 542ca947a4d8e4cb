package host

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/worldd/worldd/internal/botrun"
	"github.com/worldd/worldd/server"
	"github.com/worldd/worldd/world"
)

// writeServed writes what a server did, after its end.
func writeServed(w io.Writer, took time.Duration, r server.Report, h *hosting) {
	t, world, sessions := tickOf(r), worldOf(r), r.Sessions
	confusions, _ := h.confused()
	var b strings.Builder
	line := func(name, format string, args ...any) {
		fmt.Fprintf(&b, "  %-10s", name)
		fmt.Fprintf(&b, format+"\n", args...)
	}
	line("served", "%v: %d joined, %d refused", took.Round(time.Second), sessions.Joined, sessions.Refused)
	line("tick", "p50 %.2f ms   p99 %.2f ms   max %.2f ms   %d steps at %d Hz, %d late", t.P50Ms, t.P99Ms, t.MaxMs, t.Count, t.RateHz, t.Late)
	if r.StateHash != 0 {
		line("world", "%d entities: %d awake, %d asleep; %d spawned, %d destroyed", world.Entities, world.Awake, world.Asleep, world.Spawned, world.Destroyed)
		line("", "state hash %s", world.StateHash)
	} else { // rooms, which have ended
		line("worlds", "%d spawned, %d destroyed", world.Spawned, world.Destroyed)
	}
	for _, s := range r.World.Systems {
		line("", "system %s: %v a tick, at most %v", s.Name, meanDuration(s).Round(10*time.Nanosecond), s.Longest.Round(time.Microsecond))
	}
	line("sent", "%.1f MB in %d datagrams, %.1f MB on streams", float64(r.Traffic.DatagramBytes)/1e6, r.Traffic.Datagrams, float64(r.Traffic.StreamBytes)/1e6)
	if i := r.Images; i.Saved+i.Failed > 0 {
		line("images", "%d saved, %d not; at most %v in all, %v of it in the tick", i.Saved, i.Failed, i.Took.Round(time.Millisecond), i.Blocked.Round(10*time.Microsecond))
	}
	line("commands", "%d executed, %d rejected", sessions.Executed, sessions.Rejected)
	if confusions > 0 {
		line("confusions", "%d commands named a handle by another identity", confusions)
	}
	_, _ = io.WriteString(w, b.String()) // a closed terminal is not an error
}

func meanDuration(s world.SystemStats) time.Duration {
	return s.Total / time.Duration(max(s.Runs, 1))
}

// tickOf and worldOf return the server's part of a botrun.Report.
func tickOf(r server.Report) *botrun.Tick {
	t := r.Tick
	ms := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
	return &botrun.Tick{RateHz: t.RateHz, Count: t.Count, P50Ms: ms(t.P50), P99Ms: ms(t.P99), MaxMs: ms(t.Max), Late: t.Late}
}

// serverNow returns the server's state, compared with an earlier report.
func serverNow(before, now server.Report) *botrun.ServerNow {
	s := &botrun.ServerNow{TickP99Ms: tickOf(now).P99Ms, Awake: now.World.Awake, Asleep: now.World.Asleep}
	if n := now.Tick.Count - before.Tick.Count; n > 0 {
		spent := func(r server.Report) time.Duration {
			return r.Tick.Receive + r.Tick.Step + r.Tick.Replicate + r.Tick.Between
		}
		s.TickMeanMs = (spent(now) - spent(before)).Seconds() * 1000 / float64(n)
	}
	return s
}

func worldOf(r server.Report) *botrun.World {
	w := r.World
	return &botrun.World{
		Entities: w.Entities, Awake: w.Awake, Asleep: w.Asleep,
		Spawned: w.Spawned, Destroyed: w.Destroyed, Reused: w.Reused, StateHash: fmt.Sprintf("%016x", r.StateHash),
	}
}
