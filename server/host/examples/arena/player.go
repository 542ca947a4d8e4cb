package main

import (
	"errors"
	"fmt"
	"iter"
	"math"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/client"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/world/motion"
)

// Player is the client's half of the game: what a person or a bot sees and does. Its caller
// draws, reads keys, and calls Frame once per picture.
type Player struct {
	Stick Stick // what is held down
	Watch bool  // a spectator asks for no ship

	client  *client.Client
	predict *client.Prediction[schema.Body] // of the own ship
	moment  client.Moment                   // shown by the newest Frame
	asked   uint8                           // ToPlay or ToWatch, over this connection and in this room
	shots   []*client.Query[Shot]           // unanswered shots
	others  []*client.Future                // other unanswered commands
	darts   []dart                          // own missiles that are predicted

	Hits    int      // hits by the own laser
	Lines   []string // chat, kills and refusals, newest last
	Flashes []Flash  // beams and blasts of the last moments
}

// Flash is a beam, or a blast if both ends are equal.
type Flash struct {
	From, To [3]float32
	Tick     uint32
}

// flashTicks is how long a Flash is drawn.
const flashTicks = TickHz / 5

// maxLines bounds Lines.
const maxLines = 50

// Ship is a ship as the player sees it.
type Ship struct {
	Handle bulk.Handle
	Pilot  Pilot
	Hull   uint8
	At     [3]float32
}

// Join connects a player: dial is client.Dial with a context and an address, or a rig's Dial.
func Join(name string, dial func(client.Config) (*client.Client, error)) (*Player, error) {
	p, config := NewPlayer(name)
	c, err := dial(config)
	if err != nil {
		return nil, err
	}
	return p, p.Joined(c)
}

// NewPlayer returns a player. It plays after Joined receives a client that was dialled with
// config.
func NewPlayer(name string) (p *Player, config client.Config) {
	p = &Player{}
	var events client.Events
	client.OnEvent(&events, ChatEvent, func(_ uint32, e Chat) { p.note("<%s> %s", e.From, e.Text) })
	client.OnEvent(&events, KillEvent, func(_ uint32, e Kill) { p.note("%s", e) })
	// OnEventRendered waits until the picture reaches the event's tick.
	client.OnEventRendered(&events, BeamEvent, func(tick uint32, e Beam) {
		if e.By != p.client.Controlled() { // Shoot has shown the own one
			p.Flashes = append(p.Flashes, Flash{e.From, e.To, tick})
		}
	})
	client.OnEventRendered(&events, BlastEvent, func(tick uint32, e Blast) { p.Flashes = append(p.Flashes, Flash{e.At, e.At, tick}) })
	return p, client.Config{Name: name, Schema: Protocol, Events: &events, State: p.stateChanged}
}

// Joined begins to predict the own ship.
func (p *Player) Joined(c *client.Client) (err error) {
	p.client = c
	p.predict, err = client.Predict(c, func(_ uint32, ship *schema.Body, s Stick) { Fly(ship, s) }, client.PredictConfig{})
	return err
}

// stateChanged handles lost and new connections. In a new session the player is a spectator
// again. A resumed session may have lost its Play, which may be repeated without harm.
func (p *Player) stateChanged(s client.StateChange) {
	if s.State == client.Joined {
		p.asked = 0
		return
	}
	p.note("%v", s.State)
}

func (p *Player) note(format string, args ...any) {
	p.Lines = append(p.Lines, fmt.Sprintf(format, args...))
	p.Lines = p.Lines[max(len(p.Lines)-maxLines, 0):]
}

// String describes the kill in a line for players.
func (k Kill) String() string {
	verb := [...]string{"ended", "lasered", "blew up"}[min(k.Weapon, Warhead)]
	switch k.By {
	case "":
		return fmt.Sprintf("somebody gone %s %s", verb, k.Of)
	case k.Of:
		return fmt.Sprintf("%s %s themselves", k.By, verb)
	}
	return fmt.Sprintf("%s %s %s", k.By, verb, k.Of)
}

// Frame sends the stick, applies what arrived and advances to the moment to draw. It does not
// block. An error is final.
func (p *Player) Frame() error {
	p.TakePart()
	if _, err := client.SetInput(p.client, Sticks, p.Stick); err != nil {
		return err
	}
	if err := p.client.Update(); err != nil {
		return err
	}
	p.Show()
	return nil
}

// TakePart asks for a ship, or to watch: once over each connection, and in each room. In the lobby it asks
// for a match.
func (p *Player) TakePart() {
	want := uint8(ToPlay)
	if p.Watch {
		want = ToWatch
	}
	if p.asked == want || p.client.State() != client.Joined {
		return
	}
	if want == ToPlay && send(p, PlayCommand, Play{}) || want == ToWatch && send(p, WatchCommand, Watch{}) {
		p.asked = want
	}
}

// Show advances to the moment to draw.
func (p *Player) Show() {
	before := p.moment.Tick
	p.moment = p.client.Render()
	p.flyDarts(max(p.moment.Tick-before, 0))
	p.pollAnswers()
	for len(p.Flashes) > 0 && float64(p.Flashes[0].Tick+flashTicks) < p.moment.Tick {
		p.Flashes = p.Flashes[1:]
	}
}

// pollAnswers takes the answers to commands. They arrive in the order of sending.
func (p *Player) pollAnswers() {
	for len(p.shots) > 0 {
		shot, r, ok := p.shots[0].Poll()
		if !ok {
			break
		}
		p.shots = p.shots[1:]
		p.noteRefusal(r.Err)
		if shot.Hit != 0 {
			p.Hits++
		}
	}
	for len(p.others) > 0 {
		r, ok := p.others[0].Poll()
		if !ok {
			break
		}
		p.others = p.others[1:]
		p.noteRefusal(r.Err)
	}
}

func (p *Player) noteRefusal(err error) {
	var refused *client.Rejection
	if errors.As(err, &refused) {
		p.note("%s", refused.Text)
	}
}

// Say sends a line to all players. It returns false if it was not sent.
func (p *Player) Say(text string) bool { return send(p, TalkCommand, Talk{Text: text}) }

// send sends a command without an answer. It returns false if it was not sent.
func send[Args any](p *Player, command schema.DefinedCommand[Args], args Args) bool {
	f, err := client.Do(p.client, command, 0, args)
	if err != nil {
		return false // no connection, or too many commands
	}
	p.others = append(p.others, f)
	return true
}

// Shoot fires the laser at a ship where it is shown, which is in the past. The command carries
// that moment, so that the server can judge the shot at it. The beam is shown at once; the
// server's answer says whether it hit.
func (p *Player) Shoot(at Ship) {
	if own, ok := p.Own(); ok {
		if q, err := client.Ask(p.client, ShootCommand, 0, Shoot{Aim: aim(own, at)}); err == nil {
			p.shots = append(p.shots, q)
			p.Flashes = append(p.Flashes, Flash{own.At, at.At, uint32(p.moment.Tick)})
		}
	}
}

// Launch fires a missile that follows a ship, and shows it at once.
func (p *Player) Launch(at Ship) {
	own, ok := p.Own()
	if !ok {
		return
	}
	name, err := p.client.Provisional()
	if err != nil {
		return // too many provisional handles await answers
	}
	l := Launch{Aim: aim(own, at), Target: at.Handle, Missile: name}
	if send(p, LaunchCommand, l) {
		p.darts = append(p.darts, dart{name, motion.VecOf(own.At), direction(l.Aim).Scale(ShipSpeed), l.Target, 0})
	}
}

func aim(from, to Ship) float32 {
	return float32(math.Atan2(float64(to.At[2]-from.At[2]), float64(to.At[0]-from.At[0])))
}

// Own returns the player's ship, and false while there is none.
func (p *Player) Own() (Ship, bool) { return p.Ship(p.client.Controlled()) }

// Ship returns a ship, and false if the handle names none that is in view.
func (p *Player) Ship(h bulk.Handle) (Ship, bool) { return p.shipOf(p.client.Replica().Entity(h)) }

func (p *Player) shipOf(e *client.Entity) (Ship, bool) {
	pilot, ok := client.Of(Pilots).Get(e)
	if !ok {
		return Ship{}, false
	}
	hull, _ := client.Of(Hulls).Get(e)
	body, _ := client.Body.At(e, p.moment)
	if e.Handle() == p.client.Controlled() {
		if own, ok := p.predict.At(p.moment); ok { // ahead of the others, and at once
			body = own
		}
	}
	return Ship{e.Handle(), pilot, hull.Points, body.Position}, true
}

// Ships yields the ships in view, the own one included.
func (p *Player) Ships() iter.Seq[Ship] {
	return func(yield func(Ship) bool) {
		for e := range p.client.Replica().All() {
			if s, ok := p.shipOf(e); ok && !yield(s) {
				return
			}
		}
	}
}

// Missiles yields the positions of the missiles in view, and of the player's own, which are
// shown before the server has made them.
func (p *Player) Missiles() iter.Seq[[3]float32] {
	return func(yield func([3]float32) bool) {
		own := map[bulk.Handle]bool{}
		for _, d := range p.darts {
			own[p.client.Real(d.name)] = true
			if !yield(p.blended(d)) {
				return
			}
		}
		for e := range p.client.Replica().All() {
			if _, ok := client.Of(Seekers).Get(e); !ok || own[e.Handle()] {
				continue
			}
			if body, _ := client.Body.At(e, p.moment); !yield(body.Position) {
				return
			}
		}
	}
}

// Nearest returns the nearest other ship in view.
func (p *Player) Nearest() (best Ship, ok bool) {
	own, _ := p.Own()
	least := math.Inf(1)
	for s := range p.Ships() {
		if d := distance(own, s); s.Handle != own.Handle && (d < least || d == least && s.Handle < best.Handle) {
			best, least, ok = s, d, true
		}
	}
	return best, ok
}

func distance(a, b Ship) float64 {
	return math.Hypot(float64(a.At[0]-b.At[0]), float64(a.At[2]-b.At[2]))
}

// Match returns the round and its remaining seconds.
func (p *Player) Match() (round uint16, seconds float64) {
	for e := range p.client.Replica().All() {
		if m, ok := client.Of(Matches).Get(e); ok {
			return m.Round, max(float64(m.Ends)-p.moment.Tick, 0) / TickHz
		}
	}
	return 0, 0
}

// Visitors yields the tickets of all who are in the lobby, if the player is.
func (p *Player) Visitors() iter.Seq[Ticket] {
	return func(yield func(Ticket) bool) {
		for e := range p.client.Replica().All() {
			if t, ok := client.Of(Tickets).Get(e); ok && !yield(t) {
				return
			}
		}
	}
}
