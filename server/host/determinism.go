package host

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/worldd/worldd/client"
	"github.com/worldd/worldd/loadtest/bot"
	"github.com/worldd/worldd/loadtest/rig"
	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/server"
	"github.com/worldd/worldd/world"
)

// determinismBots is the number of bots that play a world whose determinism is checked.
const determinismBots = 8

// checkDeterminism checks the world, or a room of each kind, and prints a line for each.
func (p *program) checkDeterminism(name, worldName string, ticks uint64) error {
	rooms := []server.RoomRequest{{}}
	if p.Rooms != nil {
		rooms = rooms[:0]
		for _, kind := range slices.Sorted(maps.Keys(p.Rooms.Kinds)) {
			rooms = append(rooms, server.RoomRequest{Name: kind, Kind: kind})
		}
	}
	for _, room := range rooms {
		title := name
		if room.Name != "" {
			title += ", room " + room.Name
		}
		d := determinism{program: p, options: Options{World: worldName, Room: room}}
		compared, err := d.check(ticks)
		if err != nil {
			return fmt.Errorf("%s: %w", title, err)
		}
		_, err = fmt.Fprintf(p.out, "%s: deterministic: %d ticks of %s, repeated in two halves: %d hashes are equal\n",
			title, d.ticks, countOf(d.bots, "bot", "bots"), compared)
		if err != nil {
			return err
		}
	}
	return nil
}

// determinism plays a world and repeats it in other instances of the game.
type determinism struct {
	*program
	options Options
	bots    int
	ticks   uint64         // that were played
	effects []systemEffect // of the world that was played, in their order
}

// systemEffect is the state of a world after a system.
type systemEffect struct {
	tick   uint64
	system string // empty: after the motion of bodies
	hash   uint64
}

// check plays ticks once bots have joined, and repeats their halves, each in a world made again: in the second half, variables outside the
// world begin as after a crash. It returns the number of compared hashes.
func (d *determinism) check(ticks uint64) (compared int, err error) {
	recordings, err := d.play(ticks)
	if err != nil {
		return 0, err
	}
	for _, recording := range recordings {
		n, err := d.repeat(recording)
		if err != nil {
			return 0, err
		}
		compared += n
	}
	return compared, nil
}

// play lets bots play the world, and returns recordings of both halves of the ticks.
func (d *determinism) play(ticks uint64) ([]io.Reader, error) {
	g, err := d.buildInstance(d.options)
	if err != nil {
		return nil, err
	}
	seed := d.options.SeedOr(cmp.Or(g.Seed, 1))
	r, err := rig.New(seed, rig.Config{Server: d.hostInstance(g).config, Link: rig.Link{Delay: 20 * time.Millisecond}})
	if err != nil {
		return nil, err
	}
	defer r.Close()
	g.World.TraceSystems(func(system string) {
		d.effects = append(d.effects, systemEffect{g.World.Tick(), system, g.World.StateHash()})
	})
	var recordings []io.Reader
	begin := g.World.Tick()
	for half := range 2 {
		var img world.Image
		var recording bytes.Buffer
		g.takeImage(&img)
		recorder, err := g.World.Record(&recording, &img, 1)
		if err != nil {
			return nil, err
		}
		for n := 0; half == 0 && n < min(determinismBots, cmp.Or(g.MaxSessions, determinismBots)); n++ {
			if err := d.joinBot(r, g, n, seed); err != nil {
				return nil, fmt.Errorf("bot %d: %w", n, err)
			}
			d.bots++
		}
		for end := g.World.Tick() + ticks/2; g.World.Tick() < end; {
			if err := r.Step(); err != nil {
				return nil, err
			}
		}
		if err := recorder.Close(); err != nil {
			return nil, err
		}
		recordings = append(recordings, &recording)
	}
	d.ticks = g.World.Tick() - begin
	return recordings, nil
}

// joinBot lets a bot of the game join, and play in its frames.
func (d *determinism) joinBot(r *rig.Rig, g *Instance, n int, seed uint64) error {
	player, name := d.botPlayer(), fmt.Sprintf("bot-%d", n)
	var b bot.Behavior
	if player.New != nil {
		var err error
		b, err = player.New(bot.Seat{
			Number: n, Name: name, Rand: rand.New(rand.NewPCG(seed, uint64(n))), Scenario: bot.Roam, AreaMetres: g.AreaMetres, Recorder: forgetful{},
		})
		if err != nil {
			return err
		}
	}
	c, err := r.Dial(client.Config{
		Name: name, Version: player.Version, Schema: cmp.Or(b.Schema, g.Schema), Events: b.Events, State: b.State, Observer: b.Observer, Result: b.Result,
	})
	if err != nil {
		return err
	}
	if b.Joined != nil {
		if err := b.Joined(c.Client); err != nil {
			return err
		}
	}
	tick := c.Replica().Tick()
	c.EachFrame(30, func() error {
		if err := c.Update(); err != nil {
			return err
		}
		f := bot.Frame{Client: c.Client, Now: time.Unix(0, 0).Add(r.Now()), Fresh: c.Replica().Tick() != tick}
		tick = c.Replica().Tick()
		return playFrame(&b, &f)
	})
	return nil
}

// playFrame sends the input and the commands of a bot's frame.
func playFrame(b *bot.Behavior, f *bot.Frame) error {
	if b.Input != nil {
		if in := b.Input(f); in != nil {
			tick, err := f.Client.SetInputValue(in)
			if err != nil {
				return err
			}
			f.InputTick = tick
		}
	}
	if b.Act == nil {
		return nil
	}
	return b.Act(f)
}

// forgetful is the bot.Recorder of bots that check nothing.
type forgetful struct{}

func (forgetful) Count(string, uint64)   {}
func (forgetful) Sample(string, float64) {}
func (forgetful) Learn(world.Entity)     {}
func (forgetful) Recall(world.Entity) (identity uint64, verdict wire.Verdict, sure bool) {
	return 0, 0, false
}
func (forgetful) Report(world.Entity, uint64, string, ...any) {}

// repeat repeats a recording in a world made again, and returns the number of compared hashes.
func (d *determinism) repeat(recording io.Reader) (compared int, err error) {
	g, err := d.buildInstance(d.options)
	if err != nil {
		return 0, err
	}
	replay, err := g.replay(recording)
	if err != nil {
		return 0, err
	}
	rest := d.effects // from the next system on
	for len(rest) > 0 && rest[0].tick <= g.World.Tick() {
		rest = rest[1:]
	}
	var guilty *string // the first system of the tick whose effect differs
	g.World.TraceSystems(func(system string) {
		if len(rest) == 0 {
			return
		}
		played := rest[0]
		rest = rest[1:]
		compared++
		if guilty == nil && (system != played.system || g.World.StateHash() != played.hash) {
			guilty = &system
		}
	})
	for err == nil {
		guilty = nil
		err = replay.Next()
	}
	var diverged *world.DivergenceError
	switch {
	case errors.Is(err, io.EOF):
		return compared + int(replay.Checked()), nil
	case errors.As(err, &diverged) && guilty != nil:
		return 0, &unrepeatableError{diverged, *guilty}
	case errors.As(err, &diverged):
		return 0, &unrepeatableError{diverged, ""}
	}
	return 0, err
}

// unrepeatableError reports that a repeated tick differs from the one played.
type unrepeatableError struct {
	*world.DivergenceError
	system string // empty: no system did it, but the motion of bodies or a change between ticks
}

// Error names the tick, the system and the parts, and the usual reasons.
func (e *unrepeatableError) Error() string {
	parts := strings.Join(e.Parts, ", ")
	if e.system == "" {
		return fmt.Sprintf("tick %d is different when it is repeated, but by no system: in %s. "+
			"A function of World.SetMover must compute from the world alone, without a clock, maps, goroutines or own variables", e.Tick, parts)
	}
	return fmt.Sprintf("tick %d: the system %q has another effect when the tick is repeated: in %s. "+
		"Journals, recordings and replays need systems that compute from the world alone: no time.Now (use World.Tick), no other randomness than World.Rand, "+
		"no iteration over a map, no goroutines, and no variables kept from tick to tick (use components, or Instance.Extra and LoadExtra)", e.Tick, e.system, parts)
}
