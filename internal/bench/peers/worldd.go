//go:build linux

package main

import (
	"context"
	"errors"
	"math/rand/v2"
	"net"
	"time"

	"github.com/worldd/worldd/client"
	"github.com/worldd/worldd/replication"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/server"
	"github.com/worldd/worldd/world"
)

// input holds the two bytes of a client's input.
type input struct{ X, Z int8 }

const inputBytes = 2

var (
	exchanged = schema.NewWithBody()
	inputs    = schema.DefineInput[input](exchanged)
)

// stage is the scene in a world.
type stage struct {
	scene           *scene
	world           *world.World
	walkers         []world.Entity
	avatars         map[world.Entity]input
	walker, spark   world.KindID
	avatar, resting world.KindID
	clock           *tickClock
	begun           uint64 // newest tick whose begin clock knows
}

func newStage(hz int, clock *tickClock) (*stage, error) {
	w, err := world.New(world.Config{TickHz: hz, Seed: rand.Uint64(), Gravity: -1, HalfExtent: world.Vec3{X: side / 2, Y: side / 8, Z: side / 2}})
	if err != nil {
		return nil, err
	}
	s := &stage{scene: newScene(hz), world: w, avatars: map[world.Entity]input{}, clock: clock}
	for _, k := range []struct {
		id   *world.KindID
		name string
	}{{&s.resting, "resting"}, {&s.walker, "walker"}, {&s.spark, "spark"}, {&s.avatar, "avatar"}} {
		if *k.id, err = w.AddKind(world.Kind{Name: k.name, Body: &world.BodyDef{Kinematic: true}}); err != nil {
			return nil, err
		}
	}
	for range resting {
		if _, err := w.Spawn(s.resting, vec3(s.scene.place()), world.Vec3{}); err != nil {
			return nil, err
		}
	}
	for range walkers {
		e, err := w.Spawn(s.walker, vec3(s.scene.place()), vec3(s.scene.heading(walkerSpeed)))
		if err != nil {
			return nil, err
		}
		s.walkers = append(s.walkers, e)
	}
	return s, w.AddSystem(world.Before, "scene", s.step)
}

// step steers everything for a tick.
func (s *stage) step(w *world.World) {
	s.begin(w.Tick())
	for range s.scene.sparksDue(uint32(w.Tick())) {
		_, _ = w.SpawnFor(s.spark, vec3(s.scene.place()), vec3(s.scene.heading(avatarSpeed)), sparkLife*uint32(s.scene.hz)) // fails if the world is full
	}
	for _, e := range s.walkers {
		at, _ := w.Position(e)
		v, _ := w.Velocity(e)
		w.SetVelocity(e, vec3(s.scene.steerWalker(vecOf(at), vecOf(v))))
	}
	for e := range s.avatars {
		v, _ := w.Velocity(e)
		w.SetVelocity(e, vec3(s.scene.steerAvatar(vecOf(v))))
	}
}

// begin notes when a tick began: with its first input, or without inputs with its step.
func (s *stage) begin(tick uint64) {
	if s.begun < tick {
		s.begun = tick
		s.clock.begin(uint32(tick))
	}
}

func (s *stage) game() server.Hooks {
	return server.Hooks{
		Join: func(*server.Session) (world.Entity, error) {
			e, err := s.world.Spawn(s.avatar, vec3(s.scene.home()), vec3(s.scene.heading(avatarSpeed)))
			s.avatars[e] = input{}
			return e, err
		},
		Input: server.OnInput(inputs, func(session *server.Session, _ uint64, in input) {
			s.begin(s.world.Tick() + 1)
			s.avatars[session.Entity()] = in
		}),
		Leave: func(session *server.Session) {
			s.world.Destroy(session.Entity())
			delete(s.avatars, session.Entity())
		},
	}
}

// serveWorldd serves the scene until ctx is done.
func serveWorldd(ctx context.Context, l load, p peer, clock *tickClock, ready func(address)) error {
	s, err := newStage(p.hz, clock)
	if err != nil {
		return err
	}
	disableGSO()
	perAddress := 0 // no limit on loopback
	if l.host == serverHost {
		perAddress = 2 * l.clients
	}
	var web *server.WebConfig
	if p.tcp {
		web = &server.WebConfig{}
	}
	host, err := server.Listen(server.Config{
		Listen: l.listen(), MaxSessionsPerAddress: perAddress, Web: web,
		WorldConfig: server.WorldConfig{
			World: s.world, Schema: exchanged, Hooks: s.game(),
			MaxSessions: 2 * l.clients,
			Replication: replication.Config{EnterRadius: enterRadius, LeaveRadius: leaveRadius, SnapshotHz: updateHz},
		},
	})
	if err != nil {
		return err
	}
	ready(address{host.Addr().String(), host.Fingerprint()})
	return host.Serve(ctx)
}

// playWorldd connects a client and answers snapshots until ctx is done.
func playWorldd(ctx context.Context, p peer, to address, m *meter) error {
	config := client.Config{Addr: to.Address, Fingerprint: to.Fingerprint, Schema: exchanged}
	if p.tcp {
		config.Fallback = true
		config.Socket = func() (net.PacketConn, error) { return nil, errors.New("no UDP") }
	}
	c, err := dialWorldd(ctx, config)
	if err != nil {
		return ignoreAfter(ctx, err)
	}
	defer c.Close()
	m.joined()
	for newest := uint32(0); ; {
		if err := c.Wait(ctx); err != nil {
			return ignoreAfter(ctx, err)
		}
		if err := c.Update(); err != nil {
			return err
		}
		replica := c.Replica()
		if replica.Tick() == newest {
			continue
		}
		newest = replica.Tick()
		stats := c.Stats()
		m.update(newest, replica.Len(), total{int(stats.Replica.Frames), stats.Replica.Rows + stats.Replica.Enters, stats.BytesReceived})
		if _, err := client.SetInput(c, inputs, input{X: int8(newest)}); err != nil {
			return err
		}
	}
}

// dialFor bounds the time of attempts to join: the server limits the handshakes of an address,
// and a link loses packets.
const dialFor = 20 * time.Second

func dialWorldd(ctx context.Context, config client.Config) (*client.Client, error) {
	for began := now(); ; time.Sleep(100 * time.Millisecond) {
		c, err := client.Dial(ctx, config)
		if err == nil || ctx.Err() != nil || now()-began > dialFor {
			return c, err
		}
	}
}

func vec3(v vec) world.Vec3  { return world.Vec3{X: v[0], Y: v[1], Z: v[2]} }
func vecOf(v world.Vec3) vec { return vec{v.X, v.Y, v.Z} }
