package bots

import (
	"math/rand/v2"
	"time"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/client"
	"github.com/worldd/worldd/internal/rowschema"
	"github.com/worldd/worldd/internal/scenes/messages"
	"github.com/worldd/worldd/internal/scenes/steering"
	"github.com/worldd/worldd/loadtest/bot"
	"github.com/worldd/worldd/replication/wire"
)

// Combat is a scenario in which each bot roams, predicts its avatar, shoots at others as it
// draws them, and launches missiles that it names ahead. It checks every answer, also by what it drew.
const Combat bot.Scenario = "combat"

// Player returns the bots that play the worlds of package scenes.
func Player() *bot.Player {
	return &bot.Player{New: newBehavior, Scenarios: []bot.Scenario{Combat}, Metrics: metrics(), Flood: flood}
}

// mind plays one visit of a bot. Its goroutine owns it.
type mind struct {
	bot.Seat
	client  *client.Client // nil until Dial has returned
	events  client.Events
	pilot   pilot
	hearing hearing
	asker   asker
	combat  combat
}

func newBehavior(s bot.Seat) (bot.Behavior, error) {
	m := newMind(s)
	b := bot.Behavior{
		Schema: messages.Schema, Events: &m.events, State: m.changeState, Result: m.takeResult, Identity: identityOf,
		Observer: client.Observer{
			Enter:   func(e *client.Entity) { m.note(e, true) },
			Update:  func(e *client.Entity) { m.note(e, false) },
			Leave:   func(h bulk.Handle, _ wire.Reason) { delete(m.combat.avatars, h) },
			Destroy: m.noteDestroyed,
		},
		Joined:    m.join,
		Input:     m.steer,
		Poke:      m.poke,
		Act:       m.act,
		Check:     m.check,
		OnArrival: s.Scenario != Combat,
	}
	return b, nil
}

func newMind(s bot.Seat) *mind {
	m := &mind{Seat: s}
	m.pilot = pilot{rng: s.Rand, area: s.AreaMetres, curve: turnPerStep(s.Scenario)}
	m.hearing = newHearing(s.Recorder)
	m.asker = asker{mind: m, renaming: map[uint32]string{}}
	m.combat = newCombat(m)
	m.hearEvents()
	return m
}

// restlessCurve is how far a restless bot turns with each input, in radians: 120° in a second.
const restlessCurve = 2.0 / 60

// turnPerStep returns how far a bot turns with every input, in radians.
func turnPerStep(s bot.Scenario) float64 {
	if s == bot.Restless {
		return restlessCurve
	}
	return 0
}

func identityOf(e *client.Entity) uint64 {
	v, _ := client.Of(messages.Identities).Get(e)
	return v.Number()
}

// join begins the visit with a client that was welcomed.
func (m *mind) join(c *client.Client) error {
	m.client = c
	m.hearing.patience = nameSeconds * uint32(c.Welcome().TickHz)
	return nil
}

// changeState forgets what ends with a session. It precedes all that a new session brings.
func (m *mind) changeState(s client.StateChange) {
	h := &m.hearing
	switch {
	case m.client == nil: // a lobby moves it while Dial has not returned
		h.changeWorld()
	case s.State == client.Reconnecting:
		h.loseConnection()
		m.combat.predicted = false
	case s.State == client.Joined && h.lost:
		h.patience = nameSeconds * uint32(m.client.Welcome().TickHz)
		switch {
		case s.Restored:
			m.combat.forgetSession()
			h.restoreSession()
		case !s.Resumed:
			m.endSession(s.Moved || s.NewWorld)
		}
	case s.State == client.Joined && (s.Moved || s.NewWorld):
		h.patience = nameSeconds * uint32(m.client.Welcome().TickHz)
		m.endSession(true)
	}
}

// endSession forgets what belongs to a session. Another world counts its events from 1, and so does a server
// that has come back after a crash.
func (m *mind) endSession(anotherWorld bool) {
	m.combat.forgetSession()
	if anotherWorld {
		m.hearing.changeWorld()
	} else {
		m.hearing.renewSession()
	}
}

// hearEvents passes the server's events to hearing.
func (m *mind) hearEvents() {
	h := &m.hearing
	client.OnEvent(&m.events, messages.NamedEvent, func(tick uint32, e messages.Named) { h.heardName(tick, e.Player, e.Name) })
	client.OnEvent(&m.events, messages.BrokenEvent, func(_ uint32, e messages.Broken) { h.heardBroken(e.Entity, e.By) })
	client.OnEvent(&m.events, messages.ScoredEvent, func(_ uint32, e messages.Scored) { h.heardScore(e.Entity, e.Count) })
	client.OnEvent(&m.events, messages.FlashEvent, func(tick uint32, e messages.Flash) {
		f := flash{serial: e.Serial, tick: tick}
		if m.client != nil { // otherwise Dial has not returned
			f.snapshots = m.client.Replica().Stats().Snapshots
		}
		h.heardFlash(f, e.Tick)
	})
}

// note checks the name of an entity that has entered or was updated, and records a sighting.
func (m *mind) note(e *client.Entity, entered bool) {
	name, ok := client.Of(messages.Names).Get(e)
	switch {
	case !ok:
	case isMissile(name.Text):
		m.combat.missileEntered(e, name.Text)
	default:
		m.hearing.checkNamed(e.Handle(), identityOf(e), name.Text, entered)
		m.combat.noteSighting(e)
	}
}

// noteDestroyed records a death for the check of its cause.
func (m *mind) noteDestroyed(h bulk.Handle, cause uint8) {
	m.hearing.noteDestroyed(h, cause)
	delete(m.combat.avatars, h)
}

// steer returns the stick that the scenario has the bot hold.
func (m *mind) steer(f *bot.Frame) any {
	switch {
	case m.Scenario == Combat:
		return m.combat.steer(f)
	case m.Scenario == bot.Restless || f.Fresh:
		m.combat.stick = m.nextStick()
		return &m.combat.stick
	}
	return nil
}

// hasPicture reports whether the connection has brought a snapshot.
func (m *mind) hasPicture(f *bot.Frame) bool {
	return m.client.Replica().Tick() != 0 && (f.Fresh || !m.hearing.lost)
}

// nextStick returns the pilot's input for the avatar's position.
func (m *mind) nextStick() steering.Stick {
	e := m.client.Replica().Entity(m.client.Controlled())
	if e == nil {
		return m.pilot.nextStick(0, 0, false)
	}
	body, seen := client.Body.Get(e)
	return m.pilot.nextStick(float64(body.Position[0]), float64(body.Position[2]), seen)
}

// act sends the commands that are due.
func (m *mind) act(f *bot.Frame) error {
	if m.Scenario == Combat {
		if err := m.combat.act(f); err != nil {
			return err
		}
	}
	return m.asker.renameIfDue(f.Now)
}

// check settles what this frame has brought.
func (m *mind) check(f *bot.Frame) error {
	r := m.client.Replica()
	m.hearing.settleFlashes(r.Stats().Snapshots, r.Tick())
	m.hearing.settleTick(r.Tick(), r.Stats().StructureTick)
	if f.Fresh {
		m.hearing.endOutage()
	}
	return nil
}

// takeResult handles the result of a command other than a poke.
func (m *mind) takeResult(r client.Result) {
	if r.Target != 0 {
		m.Report(r.Target, 0, "B5: answer %d names it, and the command named nothing", r.ID)
	}
	if r.Err == client.ErrUnanswered {
		m.asker.forgetCommand(r.ID)
		m.combat.forgetCommand(r.ID)
		return
	}
	if !m.asker.takeResult(r) && !m.combat.takeResult(r) {
		m.Report(0, 0, "B5: answer %d is to no command of this bot", r.ID)
	}
}

// pauseFrom returns the end of a pause that lasts half to one and a half of mean.
func (m *mind) pauseFrom(now time.Time, mean time.Duration) time.Time {
	return now.Add(time.Duration((0.5 + m.Rand.Float64()) * float64(mean)))
}

// flood returns a rename or a poke, for attackers.
func flood(rng *rand.Rand) (name string, args []byte) {
	if rng.IntN(4) == 0 {
		return messages.PokeCommand, pokeArgs(rng.Uint64())
	}
	i, _ := messages.Schema.CommandByName(messages.RenameCommand.Name())
	args, _ = rowschema.NewMessage(messages.Schema.Commands()[i].Args).AppendValue(nil, messages.Rename{Name: "attacker"}) // of the declared type
	return messages.RenameCommand.Name(), args
}
