package main

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strings"
	"time"
	"unicode"

	"github.com/worldd/worldd/field"
	"github.com/worldd/worldd/replication"
	"github.com/worldd/worldd/server"
	"github.com/worldd/worldd/server/host"
	"github.com/worldd/worldd/world"
)

// The rules that only the server knows.
const (
	maxTalk       = 80 // bytes, as the field of Talk
	laserDamage   = 20
	warheadDamage = 60
	warheadRadius = 3               // metres
	reloadTicks   = TickHz * 2 / 5  // between two shots of the laser
	launchTicks   = TickHz * 3      // between two missiles
	fuseTicks     = TickHz * 5 / 2  // after which a missile explodes by itself
	respawnTicks  = TickHz * 2      // after which the dead get another ship
	roundTicks    = TickHz * 60 * 2 // of a round in an open arena
	viewTicks     = TickHz * 2 / 5  // how far in the past players may shoot
	grace         = time.Second * 10
	flightHeight  = 1
	// viewRadius is less than the arena's length: players on opposite sides do not see each
	// other. Spectators view the arena from its centre and see all of it.
	viewRadius = 60
)

// windy is the layer of the bodies that feel the wind.
const windy world.Layers = 2

// The wind carries missiles off course.
const wind = `
effect gusts
everywhere
let from = position / 18
output += curl_noise((from.x, time * 0.15, from.z)) * (4, 0, 4)
`

// Host has the sessions and sends events: a *server.Room, or a rig's core.
type Host interface {
	Broadcast(event any) error
	SendWithin(center world.Vec3, radius float32, event any) error
	Sessions() iter.Seq[*server.Session]
}

// Arena is a world and its rules. All of it runs on the goroutine that steps the world. The
// rules keep their state in the world, so that recordings replay: a replay has no sessions.
type Arena struct {
	world                   *world.World
	host                    Host
	pilot                   *world.Component[Pilot]
	hull                    *world.Component[Hull]
	seeker                  *world.Component[Seeker]
	match                   *world.Component[Match]
	seat                    *world.Component[seat]
	ship, missile, seatKind world.KindID
	hits                    []world.Hit // scratch
}

// seat is on an entity for each client, which no client sees. It holds the state that outlives
// the player's ships.
type seat struct {
	Name     string
	Kills    uint16
	Barred   bool         // watches a match, and may not play
	Ship     world.Entity // may be dead; 0: a spectator
	Respawn  uint64       // tick at which the player gets a ship; 0: never
	Laser    uint64       // tick at which the laser is ready
	Launcher uint64       // tick at which the next missile is ready
}

// New makes an open arena: players come and go, and round follows round. All its randomness
// comes from seed. Its handles have the generations of g, so that no two arenas of a server
// issue the same handle; the zero value is for a single arena. Definition.New calls it, so
// host.Must ends it with an error.
func New(seed uint64, g server.Generations) (*Arena, error) {
	return makeArena(seed, g, Match{Round: 1, Ends: roundTicks}, (*Arena).nextRound)
}

// makeArena makes an arena with a match, which the system rounds ends.
func makeArena(seed uint64, g server.Generations, first Match, rounds func(*Arena, *world.World)) (*Arena, error) {
	w := host.Must(world.New(world.Config{
		TickHz: TickHz, Seed: seed, MaxEntities: 1024, FirstGeneration: g.First, LastGeneration: g.Last,
		HalfExtent: world.Vec3{X: HalfX, Y: 8, Z: HalfZ}, Gravity: -1, // none
		HistoryTicks: viewTicks,
	}))
	a := &Arena{
		world:    w,
		pilot:    host.Must(server.Register(w, Pilots)),
		hull:     host.Must(server.Register(w, Hulls)),
		seeker:   host.Must(server.Register(w, Seekers)),
		match:    host.Must(server.Register(w, Matches)),
		seat:     host.Must(world.Register[seat](w, "seat")), // not in Protocol
		ship:     host.Must(w.AddKind(world.Kind{Name: "ship", Priority: 4, Body: &world.BodyDef{Radius: ShipRadius, Kinematic: true, Layers: 1}})),
		missile:  host.Must(w.AddKind(world.Kind{Name: "missile", Priority: 2, Body: &world.BodyDef{Mass: 1, Drag: Drag, Layers: windy}})),
		seatKind: host.Must(w.AddKind(world.Kind{Name: "seat"})),
	}
	host.Must(server.Register(w, Tickets)) // of Protocol; no entity here has one
	clock := host.Must(w.AddKind(world.Kind{Name: "clock"}))
	a.match.Set(host.Must(w.Spawn(clock, world.Vec3{}, world.Vec3{})), first)
	a.blow()
	return a, errors.Join(
		w.AddSystem(world.Before, "guide", a.guide),
		w.AddSystem(world.After, "explode", a.explode),
		w.AddSystem(world.After, "rounds", func(w *world.World) { rounds(a, w) }),
		w.AddSystem(world.After, "respawn", a.respawn),
		w.AddSystem(world.After, "control", a.control),
	)
}

// blow makes the wind the only effect of the world. A wind of this program continues; an image
// of another version may have another wind.
func (a *Arena) blow() {
	program, blows := host.Must(field.Compile(wind)), false
	for _, e := range a.world.AppendEffects(nil) {
		if e.Program.Hash() == program.Hash() {
			blows = true
			continue
		}
		a.world.RemoveEffect(e.ID)
	}
	if !blows {
		host.Must(a.world.AddEffect(world.EffectDef{Program: program, Mode: world.Wind, Layers: windy}))
	}
}

// Attach sets the server that runs the arena, after server.Listen or rig.New. Without it there
// are no events, and no player controls a ship: a replay needs neither.
func (a *Arena) Attach(h Host) { a.host = h }

// RestoreRun begins a new run from an image of an earlier one. The clock continues; seats, ships
// and missiles end, since their players are gone.
func (a *Arena) RestoreRun(img *world.Image) error {
	if err := a.world.RestoreRun(img); err != nil {
		return err
	}
	for slot := range a.world.Slots().Len() {
		if e := a.world.Slots().Handle(slot); !a.match.Has(e) {
			a.seat.Remove(e) // at once, so that respawn gives the seat no ship
			a.world.Destroy(e)
		}
	}
	a.blow()
	return nil
}

// Config returns the world and its rules.
func (a *Arena) Config() server.WorldConfig {
	return server.WorldConfig{
		World: a.world, Schema: Protocol,
		Replication: replication.Config{EnterRadius: viewRadius, SnapshotHz: 30, Private: a.seat.Presence()},
		Grace:       grace,
		MaxViewAge:  viewTicks * time.Second / TickHz,
		Hooks: server.Hooks{
			Join:  a.join,
			Leave: a.leave,
			Input: server.OnInput(Sticks, a.steer),
			// The pilot has no connection. Without inputs the ship would fly on.
			Away: func(s *server.Session) { a.world.SetVelocity(s.Entity(), world.Vec3{}) },
			// All of a player's state but the seat's handle is in the world.
			SaveSession:    saveSession,
			RestoreSession: func(s *server.Session, saved []byte) error { return restoreSession(s, saved, a.seat.Has) },
			Commands: []server.Command{
				server.OnCommand(PlayCommand, a.play), server.OnCommand(WatchCommand, a.watch),
				server.OnCommand(TalkCommand, func(s *server.Session, _ world.Entity, said Talk) error { return relay(a.host, s, said) }),
				server.OnCommand(HopCommand, a.hop),
				server.OnQuery(ShootCommand, a.shoot), server.OnCommand(LaunchCommand, a.launch),
			},
			Signals: []server.Signal{server.OnSignal("announce", a.announce)},
		},
	}
}

// checkName refuses names that players cannot read.
func checkName(s *server.Session) error {
	if s.Name() == "" || !printable(s.Name()) {
		return errors.New("give a name of printable letters")
	}
	return nil
}

// join seats a client as a spectator: it controls nothing.
func (a *Arena) join(s *server.Session) (world.Entity, error) {
	if err := checkName(s); err != nil {
		return 0, err
	}
	e, err := a.world.Spawn(a.seatKind, world.Vec3{}, world.Vec3{})
	if err != nil {
		return 0, err
	}
	a.seat.Set(e, seat{Name: s.Name()})
	s.SetValue(e)
	return 0, nil
}

// printable keeps control characters out of what other players see: they steer terminals.
func printable(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) })
}

func (a *Arena) leave(s *server.Session) {
	a.world.Destroy(s.Entity())
	a.seat.Remove(seatOf(s)) // at once, so that respawn gives the seat no ship
	a.world.Destroy(seatOf(s))
	s.SetValue(Ticket{}) // for another room
}

// saveSession appends the seat of a player, or the ticket of one who is between two rooms.
func saveSession(s *server.Session, b []byte) []byte {
	if t, ok := s.Value().(Ticket); ok {
		return append(b, host.Must(json.Marshal(t))...)
	}
	return binary.LittleEndian.AppendUint64(b, uint64(seatOf(s)))
}

// carryTicket and readTicket take a ticket along to a room of another node.
func carryTicket(v any) ([]byte, error) { return json.Marshal(v.(Ticket)) }

func readTicket(b []byte) (any, error) {
	var t Ticket
	err := json.Unmarshal(b, &t)
	return t, err
}

// restoreSession gives a player the seat back, in a world that has come back after a crash. isSeat tells
// what is one in that world.
func restoreSession(s *server.Session, saved []byte, isSeat func(world.Entity) bool) error {
	if len(saved) != 8 { // between two rooms, and without a seat
		t, err := readTicket(saved)
		s.SetValue(t)
		return err
	}
	s.SetValue(world.Entity(binary.LittleEndian.Uint64(saved)))
	if !isSeat(seatOf(s)) {
		return errors.New("the seat is gone")
	}
	return nil
}

// seatOf returns the seat or the ticket that join gave the client. No rule of the world reads it.
func seatOf(s *server.Session) world.Entity { return s.Value().(world.Entity) }

// control hands the players their new ships. It changes nothing in the world.
func (a *Arena) control(*world.World) {
	if a.host == nil { // a replay
		return
	}
	for s := range a.host.Sessions() {
		if ship := a.seat.Get(seatOf(s)).Ship; ship != s.Entity() {
			s.Control(ship)
		}
	}
}

// steer applies an input. s.Entity is dead between two lives, and SetVelocity then does nothing.
func (a *Arena) steer(s *server.Session, _ uint64, stick Stick) {
	a.world.SetVelocity(s.Entity(), stick.Velocity())
}

func (a *Arena) play(s *server.Session, _ world.Entity, _ Play) error {
	switch t := a.seat.Mut(seatOf(s)); {
	case t.Barred:
		return errBarred
	case t.Ship == 0:
		t.Respawn = a.world.Tick() + 1
	}
	return nil
}

func (a *Arena) watch(s *server.Session, _ world.Entity, _ Watch) error {
	t := a.seat.Mut(seatOf(s))
	a.world.Destroy(t.Ship)
	t.Ship, t.Respawn = 0, 0
	return nil
}

// hop moves a player to another open arena. Nobody hops out of a match.
func (a *Arena) hop(s *server.Session, _ world.Entity, to Hop) error {
	if !strings.HasPrefix(s.Room(), "arena") {
		return &server.Rejection{Text: "stay until the match is over"}
	}
	return s.Move(fmt.Sprint(openArena, to.Arena))
}

// relay tells all players of a room what one of them says.
func relay(to Host, s *server.Session, said Talk) error {
	if said.Text == "" || !printable(said.Text) {
		return &server.Rejection{Text: "say something printable"}
	}
	return to.Broadcast(Chat{s.Name(), said.Text})
}

// announce lets a backend speak to all players: POST /signals/announce with {"Text": "..."}.
func (a *Arena) announce(_ *world.World, said Talk) (struct{}, error) {
	if said.Text == "" || len(said.Text) > maxTalk || !printable(said.Text) {
		return struct{}{}, fmt.Errorf("want a Text of 1 to %d printable bytes", maxTalk)
	}
	a.tell(Chat{"referee", said.Text})
	return struct{}{}, nil
}

// giveShip gives a player a ship, unless the world is full.
func (a *Arena) giveShip(t *seat) {
	r := a.world.Rand() // part of the world's state, so that runs repeat
	at := world.Vec3{X: (2*r.Float32() - 1) * HalfX * 0.9, Y: flightHeight, Z: (2*r.Float32() - 1) * HalfZ * 0.9}
	ship, err := a.world.Spawn(a.ship, at, world.Vec3{})
	if err != nil {
		return // again in the next tick
	}
	a.pilot.Set(ship, Pilot{t.Name, t.Kills})
	a.hull.Set(ship, Hull{FullHull})
	t.Ship, t.Respawn = ship, 0
}

// Errors that the player reads.
var (
	errNoShip    = &server.Rejection{Text: "you have no ship"}
	errReloading = &server.Rejection{Text: "reloading"}
	errBarred    = &server.Rejection{Text: "you watch this match: play in the next one"}
)

// fire returns the position from which a ship fires, if the weapon is ready, and sets when it
// is ready again.
func (a *Arena) fire(t *seat, ready *uint64, reload uint64) (from world.Vec3, err error) {
	from, ok := a.world.Position(t.Ship)
	if !ok {
		return from, errNoShip
	}
	if a.world.Tick() < *ready {
		return from, errReloading
	}
	*ready = a.world.Tick() + reload
	return from, nil
}

// shoot fires the laser at the others where the player saw them: half a round trip and some
// snapshots ago. Session.View bounds that moment by what the client has acknowledged.
func (a *Arena) shoot(s *server.Session, _ world.Entity, shot Shoot) (Shot, error) {
	t := a.seat.Mut(seatOf(s))
	from, err := a.fire(t, &t.Laser, reloadTicks)
	if err != nil {
		return Shot{}, err
	}
	to := from.Add(direction(shot.Aim).Scale(LaserRange))
	seen, _ := s.View()
	a.hits = a.world.AppendRayAt(a.hits[:0], seen, from, to, 0)
	var hit world.Entity
	for _, h := range a.hits {
		if h.Entity != t.Ship && a.hull.Has(h.Entity) {
			hit, to = h.Entity, from.Add(direction(shot.Aim).Scale(h.Distance))
			break
		}
	}
	a.flash(from, Beam{from.Array(), to.Array(), t.Ship})
	a.damage(hit, laserDamage, t.Ship, Laser)
	return Shot{hit}, nil
}

// launch fires a missile. The client chooses the target. Seeing a target does not prove that
// the player may aim at it, so a game with cover would check that here.
func (a *Arena) launch(s *server.Session, _ world.Entity, l Launch) error {
	t := a.seat.Mut(seatOf(s))
	from, err := a.fire(t, &t.Launcher, launchTicks)
	if err != nil {
		return err
	}
	missile, err := a.world.Spawn(a.missile, from, direction(l.Aim).Scale(ShipSpeed))
	if err != nil {
		return err
	}
	a.seeker.Set(missile, Seeker{Target: l.Target, Owner: t.Ship, Fuse: a.world.Tick() + fuseTicks})
	if s.IsProvisional(l.Missile) {
		return s.Bind(l.Missile, missile) // the client's own name now stands for this missile
	}
	return nil
}

// guide accelerates missiles towards their targets, before bodies move.
func (a *Arena) guide(w *world.World) {
	for m, s := range a.seeker.All() {
		at, _ := w.Position(m)
		ahead, _ := w.Velocity(m)
		if target, ok := w.Position(s.Target); ok { // not if the target is dead: the handle is stale
			ahead = target.Sub(at)
		}
		if l := ahead.Len(); l > 0 {
			w.Impulse(m, ahead.Scale(Thrust/l/TickHz))
		}
	}
}

// explode ends missiles that are near a ship or at the end of their fuse, after bodies moved.
func (a *Arena) explode(w *world.World) {
	for m, s := range a.seeker.All() {
		at, _ := w.Position(m)
		near := w.Tick() >= s.Fuse
		for e := range w.Within(at, ShipRadius+0.5) {
			near = near || e != s.Owner && a.hull.Has(e)
		}
		if !near || !w.Destroy(m) {
			continue
		}
		a.flash(at, Blast{at.Array()})
		for e := range w.Within(at, warheadRadius) {
			a.damage(e, warheadDamage, s.Owner, Warhead)
		}
	}
}

// damage takes points from a ship, and destroys it at 0. It ignores dead entities, the null
// handle and entities that are no ships: they have no hull.
func (a *Arena) damage(ship world.Entity, points uint8, by world.Entity, weapon uint8) {
	hull, victim, killer := a.hull.Get(ship), a.seatAt(ship), a.seatAt(by)
	if hull == nil || hull.Points == 0 || victim == nil { // without a seat: the pilot left in this tick
		return
	}
	left := hull.Points - min(points, hull.Points)
	a.hull.Set(ship, Hull{left})
	if left > 0 {
		return
	}
	a.world.DestroyBecause(ship, weapon)
	victim.Respawn = a.world.Tick() + respawnTicks
	kill := Kill{Of: victim.Name, Weapon: weapon}
	if killer != nil {
		kill.By = killer.Name
		if killer != victim {
			a.setKills(killer, killer.Kills+1)
		}
	}
	a.tell(kill)
}

// setKills sets the kills of the player and on the ship, which may be dead.
func (a *Arena) setKills(t *seat, kills uint16) {
	t.Kills = kills
	if p := a.pilot.Mut(t.Ship); p != nil {
		p.Kills = kills
	}
}

// tell sends an event to all players, and flash to players near it. Both fail only if Protocol
// lacks the event.
func (a *Arena) tell(event any) {
	if a.host != nil {
		must(a.host.Broadcast(event))
	}
}

func (a *Arena) flash(at world.Vec3, event any) {
	if a.host != nil {
		must(a.host.SendWithin(at, viewRadius, event))
	}
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

// seatAt returns the seat whose latest ship this is, or nil if the player has left or has
// another ship.
func (a *Arena) seatAt(ship world.Entity) *seat {
	for e, t := range a.seat.All() {
		if t.Ship == ship {
			return a.seat.Mut(e)
		}
	}
	return nil
}

// nextRound begins the next round when the time is up.
func (a *Arena) nextRound(w *world.World) {
	for e, m := range a.match.All() {
		if w.Tick() >= uint64(m.Ends) {
			a.match.Set(e, Match{m.Round + 1, m.Ends + roundTicks})
			a.endRound()
		}
	}
}

// respawn gives new ships to players whose ship was destroyed.
func (a *Arena) respawn(w *world.World) {
	for e, t := range a.seat.All() {
		if t.Respawn != 0 && w.Tick() >= t.Respawn {
			a.giveShip(a.seat.Mut(e))
		}
	}
}

// endRound names the best player; then all players begin again.
func (a *Arena) endRound() {
	var best seat
	for _, t := range a.seat.All() {
		if t.Ship != 0 && (best.Name == "" || t.Kills > best.Kills) {
			best = *t
		}
	}
	if best.Name != "" {
		a.tell(Chat{"referee", best.Name + " wins the round"})
	}
	a.resetKills()
}

func (a *Arena) resetKills() {
	for e := range a.seat.All() {
		a.setKills(a.seat.Mut(e), 0)
	}
}
