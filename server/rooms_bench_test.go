package server

import (
	"context"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"github.com/worldd/worldd/internal/admin"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/stage"
	"github.com/worldd/worldd/world"
)

// BenchmarkRoomTick measures a tick of a room with 20 clients, alone and as one of many that
// take turns. An op is a tick of all rooms; ns/tick is the mean of one room. With alone=paced a
// single room ticks 60 times a second and sleeps in between; one of 100 rooms may take 1.15
// times as long. With alone=warm the loop never sleeps.
func BenchmarkRoomTick(b *testing.B) {
	b.Run("alone=warm", func(b *testing.B) { benchmarkRooms(b, 1, 20, func() {}) })
	b.Run("alone=paced", func(b *testing.B) { benchmarkRooms(b, 1, 20, func() { time.Sleep(time.Second / 60) }) })
	for _, rooms := range []int{10, 100} {
		b.Run(fmt.Sprintf("rooms=%d", rooms), func(b *testing.B) { benchmarkRooms(b, rooms, 20, func() {}) })
	}
}

func benchmarkRooms(b *testing.B, rooms, clients int, between func()) {
	h := &testRooms{t: b, steps: map[string]func(*world.World){}, made: map[string]int{}, fails: map[string]error{}}
	c := RoomsConfig{Kinds: map[string]RoomKind{"match": {New: h.game}}, MaxRooms: rooms}
	h.rooms = must.Get(newRooms(Config{Rooms: &c, Log: zap.NewNop()}, admin.NewTimings(admin.KindLabel)))
	type table struct {
		run   *run
		conns []*stage.Conn
	}
	var all []table
	for i := range rooms {
		r := &Room{name: fmt.Sprint("match/", i), kind: "match", id: fmt.Sprint(i), by: byOperator}
		made := must.Get(h.lifeOf(r).buildRun(context.Background()))
		defer made.core.Close()
		t := table{run: made}
		for range clients {
			c := &stage.Conn{Forget: true}
			c.Peer = made.core.Open(context.Background(), "here", c)
			require.NoError(b, c.Send(stage.Hello(nil)))
			t.conns = append(t.conns, c)
		}
		all = append(all, t)
	}
	tick := uint32(0)
	round := func(t table) {
		for _, c := range t.conns {
			must.Do(c.SendInput(c.Ack()))
		}
		w := t.run.core.World()
		for s := range t.run.core.Sessions() {
			w.SetVelocity(s.Entity(), world.Vec3{X: float32((tick+uint32(s.ID()))%9) - 4, Z: float32(tick%7) - 3})
		}
		t.run.loop.runTick(time.Now().Add(time.Second), false)
	}
	for range 200 {
		tick++
		for _, t := range all {
			round(t)
		}
	}
	require.Equal(b, clients, all[0].run.core.Active())
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var spent time.Duration
	b.ReportAllocs()
	b.ResetTimer()
	for range b.N {
		tick++
		between()
		began := time.Now()
		for _, t := range all {
			round(t)
		}
		spent += time.Since(began)
	}
	b.ReportMetric(float64(spent)/float64(b.N*rooms), "ns/tick")
}

// BenchmarkBesideAStall runs two rooms: one ticks every 20 ms, each step of the other takes
// half a second of processor time. It reports the longest delay of the first room's ticks. An
// op is a second.
func BenchmarkBesideAStall(b *testing.B) {
	h := newTestRooms(b, func(*RoomsConfig) {})
	h.begin()
	h.in("match/stall", func(*world.World) {
		for began := time.Now(); time.Since(began) < time.Second/2; {
		}
	})
	var last time.Time
	var worst time.Duration
	h.in("match/other", func(*world.World) {
		now := time.Now()
		if !last.IsZero() {
			worst = max(worst, now.Sub(last)-time.Second/50)
		}
		last = now
	})
	for _, name := range []string{"match/stall", "match/other"} {
		require.NoError(b, h.createRoom(context.Background(), name))
	}
	for range b.N {
		time.Sleep(time.Second)
	}
	require.NoError(b, h.endRooms())
	b.ReportMetric(float64(worst.Microseconds())/1000, "ms-late-at-most")
}
