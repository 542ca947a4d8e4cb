package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/client"
	"github.com/worldd/worldd/loadtest/rig"
	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/server"
	"github.com/worldd/worldd/server/session"
	"github.com/worldd/worldd/world"
)

var badLink = rig.Link{Delay: 60 * time.Millisecond, Jitter: 30 * time.Millisecond, Loss: 0.05, Duplicate: 0.02, Reorder: 0.05}

// table is an arena in a rig, with its players.
type table struct {
	*rig.Rig
	*Arena
	t       testing.TB
	orphans map[world.Entity]bool // ships whose pilots have left
}

func newTable(t testing.TB, seed uint64, link rig.Link) *table {
	a, err := New(seed, server.Generations{})
	require.NoError(t, err)
	return tableOf(t, a, seed, link)
}

func tableOf(t testing.TB, a *Arena, seed uint64, link rig.Link) *table {
	r, err := rig.New(seed, rig.Config{Server: server.Config{WorldConfig: a.Config()}, Link: link})
	require.NoError(t, err)
	t.Cleanup(r.Close)
	a.Attach(r.Core())
	return &table{r, a, t, nil}
}

// sit joins a player. frame flies the ship; nil: Player.Frame.
func (b *table) sit(name string, frame func(*Player) func() error) (*Player, *rig.Client) {
	p, c, err := b.trySit(name, frame)
	require.NoError(b.t, err)
	return p, c
}

func (b *table) trySit(name string, frame func(*Player) func() error) (*Player, *rig.Client, error) {
	var c *rig.Client
	p, err := Join(name, func(config client.Config) (_ *client.Client, err error) {
		if c, err = b.Dial(config); err != nil {
			return nil, err
		}
		return c.Client, nil
	})
	if err != nil {
		return nil, nil, err
	}
	f := p.Frame
	if frame != nil {
		f = frame(p)
	}
	c.EachFrame(30, f)
	return p, c, nil
}

// round returns the current match.
func (b *table) round() (m Match) {
	for _, now := range b.match.All() {
		m = *now
	}
	return m
}

func (b *table) endRoundIn(ticks uint64) {
	for e := range b.match.All() {
		m := b.match.Mut(e)
		m.Ends = uint32(b.world.Tick() + ticks)
	}
}

func (b *table) run(d time.Duration) { require.NoError(b.t, b.RunFor(d)) }

// duel seats ann and bob with ships ten metres apart.
func duel(t testing.TB, link rig.Link) (b *table, ann, bob *Player) {
	b = newTable(t, 1, link)
	ann, _ = b.sit("ann", nil)
	bob, _ = b.sit("bob", nil)
	b.run(time.Second)
	b.world.SetPosition(ann.client.Controlled(), world.Vec3{X: -5, Y: flightHeight})
	b.world.SetPosition(bob.client.Controlled(), world.Vec3{X: 5, Y: flightHeight})
	b.run(time.Second)
	return b, ann, bob
}

func TestPlayersSeeEachOther(t *testing.T) {
	_, ann, bob := duel(t, badLink)
	s, ok := ann.Nearest()
	require.True(t, ok)
	require.Equal(t, Pilot{Name: "bob"}, s.Pilot)
	require.EqualValues(t, FullHull, s.Hull)
	require.InDelta(t, 5, s.At[0], 0.01)
	own, ok := bob.Own()
	require.True(t, ok)
	require.Equal(t, s.Handle, own.Handle)
}

// A restored arena has its clock and no orphans, even if a player was waiting for a ship.
func TestRestoredArena(t *testing.T) {
	b, ann, _ := duel(t, rig.Link{})
	b.damage(ann.client.Controlled(), FullHull, 0, Laser)
	b.seatAt(ann.client.Controlled()).Respawn = b.world.Tick() + 1
	var img world.Image
	b.world.TakeImage(&img)
	next := newTable(t, 1, rig.Link{})
	require.NoError(t, next.RestoreRun(&img))
	for range 3 {
		require.NoError(t, next.Step())
	}
	require.Equal(t, b.round(), next.round())
	require.Equal(t, 1, next.world.Stats().Entities)
}

// A crash does not cost the players their seats and ships. Ships of players who do not come back end with
// their grace period.
func TestArenaAfterCrash(t *testing.T) {
	b, ann, _ := duel(t, rig.Link{})
	b.endRoundIn(5)
	var img world.Image
	b.world.TakeImage(&img)
	var notes session.Notes
	require.NoError(t, notes.Add(b.Core().AppendNotes(nil, true)))
	next, err := New(1, server.Generations{})
	require.NoError(t, err)
	require.NoError(t, next.world.Restore(&img))
	core, err := session.NewCore(session.Config{WorldConfig: session.WorldConfig(next.Config()), Random: rand.NewChaCha8([32]byte{1})})
	require.NoError(t, err)
	defer core.Close()
	next.Attach(core)
	restored, err := core.RestoreSessions(&notes)
	require.NoError(t, err)
	require.Equal(t, 2, restored)
	for range TickHz {
		core.Tick()
	}
	s := core.Session(1)
	seat := seatOf(s)
	require.Equal(t, []any{"ann", ann.client.Controlled(), true}, []any{s.Name(), s.Entity(), s.Away()})
	require.Equal(t, "ann", next.seatAt(s.Entity()).Name)
	for range TickHz * 10 {
		core.Tick()
	}
	require.Zero(t, core.Len())
	require.Equal(t, 1, next.world.Stats().Entities, "the clock")

	require.Error(t, restoreSession(s, nil, next.seat.Has))
	ticket := Ticket{Name: "ann", Wants: ToPlay, Since: 7, Match: 9}
	s.SetValue(ticket)
	saved := saveSession(s, nil)
	s.SetValue(nil)
	require.NoError(t, restoreSession(s, saved, next.seat.Has), "between two rooms")
	require.Equal(t, ticket, s.Value())
	require.ErrorContains(t, restoreSession(s, binary.LittleEndian.AppendUint64(nil, uint64(seat)), next.seat.Has), "the seat is gone")
}

func TestStickMovesTheShip(t *testing.T) {
	b, ann, bob := duel(t, badLink)
	ann.Stick = Stick{X: 1, Z: 1}
	b.run(time.Second / 15) // two frames, half of the way to the server
	own, _ := ann.Own()
	require.Greater(t, own.At[2], float32(0.1))
	now, _ := b.world.Position(own.Handle)
	require.Zero(t, now.Z)
	b.run(time.Second - time.Second/15)
	for _, p := range []*Player{ann, bob} {
		s, ok := p.Ship(ann.client.Controlled())
		require.True(t, ok)
		require.InDelta(t, s.At[0]+5, s.At[2], 0.1, "both ways as fast")
		require.InDelta(t, -5+0.7*ShipSpeed, s.At[0], 6, "a second's flight, less the delay")
	}
}

func TestLaserKills(t *testing.T) {
	b, ann, bob := duel(t, badLink)
	victim, _ := bob.Own()
	for range FullHull / laserDamage {
		s, ok := ann.Nearest()
		require.True(t, ok)
		ann.Shoot(s)
		require.Len(t, ann.Flashes, 1, "shown at once")
		require.NoError(t, b.RunUntil(time.Second, func() bool { return len(bob.Flashes) == 1 }))
		require.LessOrEqual(t, len(ann.Flashes), 1, "shown once")
		b.run(500 * time.Millisecond)
	}
	require.Equal(t, FullHull/laserDamage, ann.Hits)
	require.Equal(t, wire.Stale, ann.client.Resolve(victim.Handle))
	for _, p := range []*Player{ann, bob} {
		require.Contains(t, p.Lines, "ann lasered bob")
	}
	own, _ := ann.Own()
	require.EqualValues(t, 1, own.Pilot.Kills)
	b.run(3 * time.Second)
	next, ok := bob.Own()
	require.True(t, ok, "bob has another ship")
	require.NotEqual(t, victim.Handle, next.Handle)
}

// A shot hits what the player saw, even if the target has moved since.
func TestShotsAtMovingShips(t *testing.T) {
	b, ann, bob := duel(t, badLink)
	shots := 0
	for range 10 {
		bob.Stick = Stick{Z: 1}
		if shots%2 == 1 {
			bob.Stick.Z = -1
		}
		ann.Stick.Z = -bob.Stick.Z / 2
		b.run(600 * time.Millisecond)
		s, ok := ann.Nearest()
		require.True(t, ok)
		b.hull.Set(s.Handle, Hull{FullHull})
		ann.Shoot(s)
		shots++
	}
	b.run(time.Second)
	require.GreaterOrEqual(t, ann.Hits, shots-1)
}

// On a link without loss, the server judges every shot at the moment that was drawn, at any
// frame rate.
func TestShotsAreJudgedAsDrawn(t *testing.T) {
	for _, fps := range []int{30, 144} {
		b := newTable(t, 1, rig.Link{Delay: 20 * time.Millisecond})
		ann, c := b.sit("ann", nil)
		bob, _ := b.sit("bob", nil)
		frame := 0
		c.EachFrame(fps, func() error {
			if s, ok := ann.Nearest(); ok && frame%7 == 0 {
				ann.Shoot(s)
			}
			frame++
			return ann.Frame()
		})
		bob.Stick = Stick{X: 0.5}
		b.run(30 * time.Second)
		views := b.Core().Stats().Views
		require.Greater(t, views[session.ViewDrawn], uint64(20))
		require.Zero(t, views[session.ViewUnseen])
		require.Zero(t, views[session.ViewCapped])
	}
}

// The client computes what the server does: it is hardly ever corrected, even at the edge of
// the world, and all corrections are due to lost inputs.
func TestPredictionAgrees(t *testing.T) {
	b, ann, _ := duel(t, badLink)
	before := ann.predict.Stats() // duel has moved the ship
	for i := range 40 {
		ann.Stick = Stick{X: float32(i%3) - 1, Z: float32(i/3%3) - 1}
		b.run(500 * time.Millisecond)
	}
	stats := ann.predict.Stats()
	require.Greater(t, stats.Agreed-before.Agreed, uint64(300))
	require.Less(t, stats.Corrected-before.Corrected, uint64(10))
	require.Equal(t, stats.Missed-before.Missed, stats.Corrected-before.Corrected, "%+v", stats)
}

// The rules refuse actions that come too soon, and say why.
func TestReloading(t *testing.T) {
	b, ann, _ := duel(t, badLink)
	s, _ := ann.Nearest()
	ann.Shoot(s)
	ann.Shoot(s)
	b.run(time.Second)
	require.Equal(t, 1, ann.Hits)
	require.Equal(t, []string{"reloading"}, ann.Lines)
}

// A missile follows its target through the wind, and flies straight on once the target is dead.
func TestMissileHomes(t *testing.T) {
	for _, alive := range []bool{true, false} {
		b, ann, bob := duel(t, badLink)
		s, _ := ann.Nearest()
		bob.Stick = Stick{Z: 1}
		ann.Launch(s)
		require.NoError(t, b.RunUntil(time.Second, func() bool {
			for range ann.Missiles() {
				return true
			}
			return false
		}))
		if !alive {
			b.world.Destroy(s.Handle)
		}
		blasts := 0
		require.NoError(t, b.RunUntil(4*time.Second, func() bool {
			for _, f := range ann.Flashes {
				if f.From == f.To {
					blasts++
				}
			}
			return blasts > 0
		}))
		hull := b.hull.Get(s.Handle)
		if alive {
			require.EqualValues(t, FullHull-warheadDamage, hull.Points)
		} else {
			require.Nil(t, hull)
		}
	}
}

// A missile is drawn in the frame that launches it, and moves without a jump to the server's
// missile. A refused missile disappears.
func TestMissileIsDrawnAtOnce(t *testing.T) {
	b, ann, bob := duel(t, badLink)
	b.world.SetPosition(bob.client.Controlled(), world.Vec3{X: 30, Y: flightHeight})
	b.run(time.Second)
	drawn := func() (at [][3]float32) { return slices.Collect(ann.Missiles()) }
	target, _ := ann.Nearest()
	ann.Launch(target)
	require.Len(t, drawn(), 1)
	before := drawn()[0]
	require.Zero(t, b.seeker.Presence().Count(), "the server knows nothing yet")
	for range 30 {
		b.run(time.Second / 30)
		require.Len(t, drawn(), 1)
		at := drawn()[0]
		require.InDelta(t, before[0]+0.6, at[0], 0.8, "from %v", before)
		require.InDelta(t, before[2], at[2], 0.4)
		before = at
	}
	require.Equal(t, 1, b.seeker.Presence().Count())
	ann.Launch(target)
	require.Len(t, drawn(), 2)
	b.run(time.Second)
	require.LessOrEqual(t, len(drawn()), 1)
	require.Contains(t, ann.Lines, "reloading")
}

func TestChat(t *testing.T) {
	b, ann, bob := duel(t, badLink)
	require.True(t, ann.Say("good luck"))
	require.True(t, ann.Say("\x1b[2J"))
	b.run(time.Second)
	require.Equal(t, []string{"<ann> good luck"}, bob.Lines)
	require.Equal(t, []string{"<ann> good luck", "say something printable"}, ann.Lines)
	_, _, err := b.trySit("\x1b[2J", nil)
	require.Equal(t, wire.JoinRefused, wire.CodeOf(err))
}

// A spectator controls nothing, may not shoot, and sees the whole arena.
func TestSpectator(t *testing.T) {
	b, ann, bob := duel(t, badLink)
	watcher, _ := b.sit("eve", func(p *Player) func() error { p.Watch = true; return p.Frame })
	b.world.SetPosition(ann.client.Controlled(), world.Vec3{X: -HalfX, Y: flightHeight, Z: -HalfZ})
	b.world.SetPosition(bob.client.Controlled(), world.Vec3{X: HalfX, Y: flightHeight, Z: HalfZ})
	b.run(time.Second)
	_, ok := watcher.Own()
	require.False(t, ok)
	count := func(p *Player) (n int) {
		for range p.Ships() {
			n++
		}
		return n
	}
	require.Equal(t, 2, count(watcher))
	require.Equal(t, 3, len(slices.Collect(watcher.client.Replica().All())), "the clock, but no seats")
	require.Equal(t, 1, count(ann), "bob is too far away")
	require.Equal(t, wire.Hidden, ann.client.Resolve(bob.client.Controlled()))
	q, err := client.Ask(watcher.client, ShootCommand, 0, Shoot{})
	require.NoError(t, err)
	_, err = q.Wait(context.Background())
	require.ErrorContains(t, err, "you have no ship")
}

// A ship outlives its player by a tick, and may be hit in that tick. TestScripts found this.
func TestShotAtOneWhoLeaves(t *testing.T) {
	for late := range 4 {
		b, ann, bob := duel(t, rig.Link{})
		ship := bob.client.Controlled()
		b.hull.Set(ship, Hull{1})
		s, _ := ann.Nearest()
		require.NoError(t, b.Clients()[1].Close())
		for range late {
			require.NoError(t, b.Step())
		}
		ann.Shoot(s)
		require.NoError(t, ann.client.Update()) // sends it now, not with the next frame
		b.run(time.Second)
		require.Nil(t, b.hull.Get(ship))
		require.Equal(t, 1, b.seat.Presence().Count())
	}
}

// A player who leaves in the tick in which a ship is due leaves no ship behind.
func TestLeavesInsteadOfRespawning(t *testing.T) {
	b, _, bob := duel(t, rig.Link{})
	b.world.Destroy(bob.client.Controlled())
	require.NoError(t, b.Clients()[1].Close())
	for b.seat.Presence().Count() == 2 {
		b.seatAt(bob.client.Controlled()).Respawn = b.world.Tick() + 1
		require.NoError(t, b.Step())
	}
	b.run(time.Second)
	require.Equal(t, 3, b.world.Stats().Entities, "the clock, ann's seat and her ship")
}

// When the time is up, the best player is named and all players begin again.
func TestMatchEnds(t *testing.T) {
	b, ann, _ := duel(t, badLink)
	round, before := ann.Match()
	require.EqualValues(t, 1, round)
	b.setKills(b.seatAt(ann.client.Controlled()), 3)
	b.endRoundIn(TickHz)
	b.run(500 * time.Millisecond)
	_, after := ann.Match()
	require.Less(t, after, 1.0)
	require.Less(t, after, before)
	b.run(time.Second)
	round, _ = ann.Match()
	require.EqualValues(t, 2, round)
	require.Contains(t, ann.Lines, "<referee> ann wins the round")
	own, _ := ann.Own()
	require.Zero(t, own.Pilot.Kills)
}

// A player whose connection breaks keeps the ship, which stops until the player returns.
func TestReconnect(t *testing.T) {
	b, ann, _ := duel(t, badLink)
	ann.Stick = Stick{Z: 1}
	b.run(500 * time.Millisecond)
	ship := ann.client.Controlled()
	b.Clients()[0].Break()
	require.NoError(t, b.RunUntil(5*time.Second, func() bool { return ann.client.State() == client.Reconnecting }))
	require.NoError(t, b.Step())
	v, _ := b.world.Velocity(ship)
	require.Zero(t, v)
	require.NoError(t, b.RunUntil(5*time.Second, func() bool { return ann.client.State() == client.Joined }))
	require.Equal(t, ship, ann.client.Controlled())
}

// A player whose Play was lost with the connection sends it again.
func TestReconnectBeforePlaying(t *testing.T) {
	b := newTable(t, 1, rig.Link{Delay: 200 * time.Millisecond})
	ann, c := b.sit("ann", func(p *Player) func() error {
		p.Watch = true
		return p.Frame
	})
	b.run(time.Second)
	ann.Watch = false
	b.run(100 * time.Millisecond)
	c.Break()
	b.run(5 * time.Second)
	require.EqualValues(t, 1, c.Welcome().Resumed)
	_, ok := ann.Own()
	require.True(t, ok)
}

// Bots fight by the rules, and the same seed gives the same fight.
func TestBots(t *testing.T) {
	long := time.Minute
	if testing.Short() {
		long = 12 * time.Second
	}
	fight := func(seed uint64) (digest uint64, kills int) {
		b := newTable(t, seed, badLink)
		for i := range 4 {
			b.sit(fmt.Sprint("bot", i), func(p *Player) func() error { return NewBot(p, seed+uint64(i)).Frame })
		}
		b.run(long)
		for _, s := range b.seat.All() {
			kills += int(s.Kills)
		}
		return b.Digest(), kills
	}
	digest, kills := fight(1)
	require.Positive(t, kills)
	again, _ := fight(1)
	require.Equal(t, digest, again)
}

// A recording replays to the same hashes in an arena without players, even a recording of a
// restored run. In it bots fight, one leaves, and a round ends.
func TestReplay(t *testing.T) {
	play := func(a *Arena, img, end *world.Image) {
		var file bytes.Buffer
		recorder, err := a.world.Record(&file, img, 1)
		require.NoError(t, err)
		b := tableOf(t, a, 1, badLink)
		for i := range 4 {
			b.sit(fmt.Sprint("bot", i), func(p *Player) func() error { return NewBot(p, uint64(i)).Frame })
		}
		require.NoError(t, b.RunUntil(time.Minute, func() bool {
			for slot := range b.pilot.Presence().All() {
				if b.pilot.Get(b.world.Slots().Handle(slot)).Kills > 0 {
					return true
				}
			}
			return false
		}))
		require.NoError(t, b.Clients()[0].Close())
		b.endRoundIn(TickHz)
		b.run(5 * time.Second)
		require.NoError(t, recorder.Close())
		a.world.TakeImage(end)

		again, err := New(1, server.Generations{})
		require.NoError(t, err)
		replay, err := again.world.Replay(&file)
		require.NoError(t, err)
		for err == nil {
			err = replay.Next()
		}
		require.ErrorIs(t, err, io.EOF)
		require.Equal(t, a.world.StateHash(), again.world.StateHash())
	}
	a, err := New(1, server.Generations{})
	require.NoError(t, err)
	var img, end world.Image
	a.world.TakeImage(&img)
	play(a, &img, &end)

	next, err := New(1, server.Generations{})
	require.NoError(t, err)
	require.NoError(t, next.RestoreRun(&end))
	next.world.Step()
	next.world.TakeImage(&img)
	play(next, &img, &end)
}

// check returns what is wrong with an arena. It holds whatever the players do.
func (b *table) check() error {
	ships := map[world.Entity]bool{}
	for _, s := range b.seat.All() {
		switch hull := b.hull.Get(s.Ship); {
		case hull == nil && s.Respawn == 0 && s.Ship != 0:
			return fmt.Errorf("%s is dead for ever", s.Name)
		case hull != nil && (hull.Points == 0 || hull.Points > FullHull):
			return fmt.Errorf("%s flies with a hull of %d", s.Name, hull.Points)
		}
		ships[s.Ship] = true
	}
	for s := range b.host.Sessions() {
		if b.seat.Get(seatOf(s)).Ship != s.Entity() {
			return fmt.Errorf("%s does not control their ship", s.Name())
		}
	}
	before := b.orphans
	b.orphans = map[world.Entity]bool{}
	for slot := range b.hull.Presence().All() {
		e := b.world.Slots().Handle(slot)
		b.orphans[e] = !ships[e]
		if before[e] && !ships[e] { // destroyed entities live on to the end of a step
			return fmt.Errorf("ship %v has no pilot", e)
		}
	}
	return b.world.CheckInvariants()
}

// start makes a game for scripts: players come, go, lose their connections, and do anything.
func start(t testing.TB) func(seed uint64) (*rig.Run, error) {
	return func(seed uint64) (*rig.Run, error) {
		b := newTable(t, seed, badLink)
		players := map[*rig.Client]*Player{}
		do := func(f func(p *Player, number int)) func(*rig.Client, int) {
			return func(c *rig.Client, number int) { f(players[c], number) }
		}
		return &rig.Run{
			Rig: b.Rig,
			Join: func(name string) (*rig.Client, error) {
				p, c, err := b.trySit(name, nil)
				players[c] = p
				return c, err
			},
			Actions: map[string]func(*rig.Client, int){
				"fly": do(func(p *Player, number int) { p.Stick = Stick{X: float32(number%3) - 1, Z: float32(number/3%3) - 1} }),
				"shoot": do(func(p *Player, _ int) {
					if s, ok := p.Nearest(); ok {
						p.Shoot(s)
					}
				}),
				"launch": do(func(p *Player, number int) {
					p.Launch(Ship{Handle: world.Entity(number)<<32 | world.Entity(number%64)})
				}),
				"talk": do(func(p *Player, number int) { p.Say(fmt.Sprint(number)) }),
			},
			Check: b.check,
		}, nil
	}
}

func TestScripts(t *testing.T) {
	seeds := uint64(10)
	if testing.Short() {
		seeds = 1
	}
	require.NoError(t, rig.Search(seeds, 20*TickHz, start(t)))
}

// The same code plays over QUIC.
func TestOverNetwork(t *testing.T) {
	a, err := New(1, server.Generations{})
	require.NoError(t, err)
	s, err := server.Listen(server.Config{Listen: "127.0.0.1:0", WorldConfig: a.Config()})
	require.NoError(t, err)
	a.Attach(s.Room())
	ctx, stop := context.WithTimeout(context.Background(), time.Minute)
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx) }()
	ann, err := Join("ann", func(c client.Config) (*client.Client, error) {
		c.Addr, c.Fingerprint = s.Addr().String(), s.Fingerprint()
		return client.Dial(ctx, c)
	})
	require.NoError(t, err)
	for said := false; len(ann.Lines) == 0; {
		require.NoError(t, errors.Join(ann.client.Wait(ctx), ann.Frame()))
		if _, ok := ann.Own(); ok && !said {
			said = ann.Say("hello")
		}
	}
	_, err = s.Signal(ctx, "", "announce", []byte(`{"Text": ""}`))
	require.ErrorContains(t, err, "want a Text")
	_, err = s.Signal(ctx, "", "announce", []byte(`{"Text": "last round"}`))
	require.NoError(t, err)
	for len(ann.Lines) < 2 {
		require.NoError(t, errors.Join(ann.client.Wait(ctx), ann.Frame()))
	}
	require.Equal(t, []string{"<ann> hello", "<referee> last round"}, ann.Lines)
	require.NoError(t, ann.client.Close())
	stop()
	require.NoError(t, <-ended)
}

func TestTerminal(t *testing.T) {
	b, ann, bob := duel(t, rig.Link{})
	screen := &Terminal{Player: ann}
	require.Contains(t, screen.Picture(), "bob 100")
	require.Contains(t, screen.Picture(), Help)
	require.True(t, screen.Keys("d \r"+"hi, q\x7fbob\r"))
	require.Equal(t, Stick{X: 1}, ann.Stick)
	b.run(time.Second)
	require.Equal(t, []string{"<ann> hi, bob"}, bob.Lines)
	require.Contains(t, screen.Picture(), "bob 80")
	require.Contains(t, screen.Picture(), "hits 1")
	require.True(t, screen.Keys("\x1b[A"))
	require.Equal(t, Stick{Z: -1}, ann.Stick)
	require.False(t, screen.Keys("q"))
}
