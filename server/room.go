package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"sync/atomic"
	"time"

	"go.uber.org/zap"
	"golang.org/x/time/rate"

	"github.com/worldd/worldd/internal/admin"
	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/server/imagefile"
	"github.com/worldd/worldd/server/session"
	"github.com/worldd/worldd/world"
)

// Room is one world of a Server, with the sessions in it. Games use it to send events and to
// iterate over sessions. Only the Hooks and systems of the world may call its methods: they run
// on the goroutine that owns the world. A nil Room has no sessions, so rules also run without a
// server, for example in the command replay of package host.
//
// SendSeen, SendWithin and Broadcast send an event to several clients, and Session.Send to one.
// Sessions that refuse the event miss it. An error says that the schema has no event of that type.
type Room struct {
	name, kind, id string
	run            atomic.Pointer[run]    // the current one; nil while the room is made or has failed
	ended          atomic.Pointer[string] // reason of End; nil: it was not called
	listing        atomic.Pointer[listing]
	asked          map[string]string // attributes of the query for which it was made; nil: none
	maker          uint64            // key of the seeker for whose query it was made; 0: none

	// Used only with Config.Rooms. Guarded by rooms.mu.
	state    roomState
	by       origin             // of the newest request that made it
	saved    bool               // counts in MaxImages, even before its first image
	retry    chan struct{}      // closed when the operator creates the failed room again
	creator  string             // address that roomsPerAddress counts it for; may be empty
	ready    chan struct{}      // closed when the room is open or failed
	err      error              // why it failed
	opened   time.Time          // when the current run began
	lastUsed time.Time          // when it last had a session or a call, or a client asked to join
	deadline time.Time          // when draining ends; zero: not draining
	stop     context.CancelFunc // nil without Config.Rooms; not guarded
	gone     chan struct{}      // closed when the room has ended
	endRun   context.CancelFunc // ends the present run
	move     *roomMove          // to another node, or nil
	arrival  *arrival           // from another node, before the room opens here, or nil
	eviction *eviction          // the end of this room in favour of another, or nil
	awaits   *eviction          // the end of the room that this one replaces, or nil
}

// run is the lifetime of a room's world. After a panic, another run follows.
type run struct {
	core  *session.Core
	loop  *loop
	log   *zap.Logger
	store *imagefile.Store // nil: not saved
	// restored holds the run that begin continues; nil: a new one.
	restored *restoredRun
	block    int           // block of generations
	pointer  *imagePointer // nil: the images are nobody else's
	// reload is RoomGame.Reload, or nil.
	reload func() (Limits, []string, error)
	ended  func() // RoomGame.Ended
	// saveArrivals keeps the memory of sessions that have come beyond the end of the room; nil without rooms.
	saveArrivals func()
	// leaves: the world is saved for another node, which is to take the room; kept: and so are the sessions, which have not ended.
	leaves, kept bool
}

// newRun returns a run of a Core with c. image configures the saves of its world.
func newRun(c session.Config, image ImageConfig, log *zap.Logger, ticks *admin.TickTimings, d *descriptorReserve, trace *tracer) (*run, error) {
	errs := &gameErrors{limit: rate.NewLimiter(gameErrorsPerSecond, gameErrorBurst)}
	c.Hooks = loggedHooks(errs, trace.traceHooks(c.Hooks))
	c.HoldOutput = image.Journal == imagefile.JournalAlways
	core, err := session.NewCore(c)
	if err != nil {
		return nil, err
	}
	log = log.With(epochField(core.Config().Epoch)) // which NewCore chooses for a new run
	errs.log = log
	trace.setEpoch(core.Config().Epoch)
	r := &run{core: core, log: log, store: image.Store, restored: image.restored}
	core.OnPanic(r.logPanic)
	core.OnDiverge(r.logResync)
	core.OnCommandError(errs.logCommand)
	core.OnUnread(errs.logUnread)
	r.loop = newLoop(core, ticks, newSaver(image, core.World(), log), log)
	r.loop.errs, r.loop.trace, r.loop.saver.trace = errs, trace, trace
	core.OnSlowHook(r.loop.clock, errs.logSlowHook)
	r.loop.saver.descriptors = d
	r.loop.journal, err = newJournal(image, core, log, ticks.ObserveSync)
	r.loop.saver.journal = r.loop.journal
	if err != nil {
		core.Close()
		return nil, err
	}
	return r, nil
}

// begin saves the new run's first image, or continues the run that was restored, on the goroutine that owns
// the world.
func (r *run) begin() error {
	if r.restored == nil {
		return r.loop.saver.saveFirst()
	}
	if err := r.loop.saver.continueSaving(); err != nil {
		return err
	}
	r.restored.restoreSessions(r)
	err := r.loop.journal.continueRun(r.restored)
	r.restored = nil
	return err
}

// discard releases a run that will not tick.
func (r *run) discard() {
	r.loop.saver.saving.Wait()
	_ = r.loop.journal.end() // the run has failed already
	r.core.Close()
}

// endAndSave ends all sessions after the last tick, and saves the world.
func (r *run) endAndSave() error {
	if r.core.Active() > 0 {
		time.Sleep(lastSnapshotWait)
	}
	r.loop.endSessions()
	missing := r.awaitDepartures()
	if missing > 0 {
		r.log.Warn("the room ends before the sessions that have moved are on the disks of their rooms", zap.Int("sessions", missing))
	}
	return r.saveEnded()
}

const (
	// departureTimeout bounds how long a room that ends waits for the disks of other rooms.
	departureTimeout = 2 * time.Second
	departurePoll    = 5 * time.Millisecond
)

// awaitDepartures waits until the sessions that have moved to other rooms are on the disks of these, and returns the number
// that are not: this room's disk must keep them.
func (r *run) awaitDepartures() (missing int) {
	r.core.ReleaseDepartures()
	for began := time.Now(); ; time.Sleep(departurePoll) {
		underway, stranded := r.core.Departures()
		if underway == 0 || time.Since(began) > departureTimeout {
			return underway + stranded
		}
	}
}

// saveEnded saves the world after its sessions have ended. A run that nobody has entered leaves the disk as it was.
func (r *run) saveEnded() error {
	if r.loop.saver.nobodyEntered() {
		r.loop.journal.discard()
		r.loop.saver.abandonRun()
		r.core.Release(math.MaxUint64)
		r.core.Close()
		return nil
	}
	if r.loop.journal != nil && !r.loop.saver.mustNotSave() {
		_ = r.loop.journal.makeDurable() // after an error a new run follows
	}
	err := r.loop.saver.saveLast()
	_ = r.loop.journal.end() // the last image holds the world, or else the journal does
	if err == nil || r.loop.journal.err() == nil && r.loop.permit.mayRun() {
		r.core.Release(math.MaxUint64)
	}
	r.core.Close()
	return err
}

// runEnd says how a run ends after its last tick.
type runEnd uint8

const (
	endRun      runEnd = iota // its sessions end, and its world is saved
	endServer                 // the next start continues it, if the journal can keep its sessions
	endHandOver               // as endServer, without waiting: another process continues it at once
	endMoved                  // as endServer, without waiting and without a goodbye: another node is to continue it
	endForGood                // its sessions end, and its files are removed
)

// abandon ends the sessions of a run that is neither stepped nor saved again.
func (r *run) abandon(why *wire.Error) {
	r.core.Abandon(why)
	r.loop.saver.saving.Wait()
	_ = r.loop.journal.end() // which logs its failures
}

// serveUntil ticks until ctx is done, calls ending, and ends the run as ending says. After errLost and errMayNotSave the caller
// abandons the run.
func (r *run) serveUntil(ctx context.Context, ending func() runEnd) error {
	defer r.notePanic()
	err := r.loop.tickUntil(ctx)
	if !errors.Is(err, errLost) {
		err = cmp.Or(r.loop.permit.awaitThaw(), err)
	}
	if errors.Is(err, errLost) || errors.Is(err, errMayNotSave) {
		return err
	}
	end := ending()
	switch {
	case err == nil && end == endForGood:
		return r.endAndRemove()
	case err == nil && end == endMoved:
		return r.saveForMove()
	case err == nil && (end == endServer || end == endHandOver) && r.mayKeepSessions() && r.keepSessions(end):
		r.core.Close()
		return nil
	}
	return errors.Join(err, r.endAndSave())
}

// mayKeepSessions reports whether the sessions of the run can outlast the server. A run that no session has entered ends without a trace.
func (r *run) mayKeepSessions() bool { return r.canKeepSessions() && !r.loop.saver.nobodyEntered() }

// canKeepSessions reports whether the run has what that needs. Any goroutine may call it.
func (r *run) canKeepSessions() bool {
	return r.loop.journal != nil && r.core.Config().Hooks.SaveSession != nil
}

// keepSessions saves the world and its sessions after the last tick, and says goodbye to their clients. It reports
// whether the next start can bring the sessions back. If not, they have not ended.
func (r *run) keepSessions(end runEnd) bool {
	r.core.EndLeaving()
	if err := r.loop.journal.makeDurable(); err != nil {
		r.log.Error("the sessions end with the server", zap.Error(err))
		return false
	}
	if r.loop.saver.saveLast() != nil || r.loop.journal.end() != nil {
		return false // which is logged
	}
	r.log.Info("the sessions outlast the run: the next one continues them", zap.Int("sessions", r.core.Active()+r.core.Away()))
	if r.core.Active() > 0 && end == endServer {
		time.Sleep(lastSnapshotWait)
	}
	r.core.Release(math.MaxUint64)
	if end != endMoved {
		r.loop.abandonSessions(nil)
	}
	return true
}

// Name returns the room's name, by which clients join it.
func (r *Room) Name() string {
	if r == nil {
		return ""
	}
	return r.name
}

// SendSeen sends event to every client that has the entity in view. If the entity has spawned
// since the last tick, the clients are those that receive its Enter in their next snapshot, and
// event follows the Enter.
func (r *Room) SendSeen(entity world.Entity, event any) error {
	if r == nil {
		return nil
	}
	return r.run.Load().core.SendSeen(entity, event)
}

// SendWithin sends event to every client whose viewpoint is within radius metres of center. A
// viewpoint is the position of the controlled entity, or of the entity of Session.SetViewpoint.
func (r *Room) SendWithin(center world.Vec3, radius float32, event any) error {
	if r == nil {
		return nil
	}
	return r.run.Load().core.SendWithin(center, radius, event)
}

// Broadcast sends event to every client.
func (r *Room) Broadcast(event any) error {
	if r == nil {
		return nil
	}
	return r.run.Load().core.Broadcast(event)
}

// Tell sends a message to the room with that name, on this server or another node of its cluster. The function that the game of that
// room has for it (Hooks.Told) runs at the beginning of one of its next ticks.
//
// The message arrives at most once, and after the earlier messages of this room to the same room. Tell waits for nobody and makes no room: the message is dropped, and counted
// (worldd_room_messages_total), if no such room runs, if 1,024 messages or 1 MiB of them wait there or on the way, and if one
// of the rooms or its node fails. A game that must know sends an answer, and asks again.
//
// With JournalAlways a message leaves once its tick is durable, so that a room never repeats a tick whose messages have left. Without, a
// room that goes back after a crash may tell again what it told in the lost ticks, as it does to its clients.
//
// The error says that the message cannot be sent as JSON of at most session.MaxRoomMessage bytes, or that the name of a room or of the message is too long.
func (r *Room) Tell(room string, m RoomMessage) error {
	if r == nil {
		return nil
	}
	return r.run.Load().core.Tell(room, m)
}

// Announce sends a message to all other rooms of a kind whose games have a function for it, of all nodes; an empty kind stands for all. Otherwise it is like Tell.
func (r *Room) Announce(kind string, m RoomMessage) error {
	if r == nil {
		return nil
	}
	return r.run.Load().core.Announce(kind, m)
}

// Sessions iterates over the sessions in the order of their IDs, each from its Join to its
// Leave. Sessions that are away are included.
func (r *Room) Sessions() iter.Seq[*Session] {
	if r == nil {
		return func(func(*Session) bool) {}
	}
	return r.run.Load().core.Sessions()
}

// sessionFields is the form of a session in each log line. Its connection is 0 while its client is away.
func sessionFields(s *Session) []zap.Field {
	return []zap.Field{
		zap.Uint64("session", s.ID()), zap.Uint64("connection", s.Connection()), zap.String("user", s.User()),
		zap.String("name", s.Name()), zap.String("network", s.Network()),
	}
}

// loggedHooks returns g with a log line for each session that joins, goes away, returns, or
// leaves. A session that is away leaves long after the last log line of its connection.
func loggedHooks(errs *gameErrors, g Hooks) Hooks {
	line := func(text string, s *Session, entity world.Entity) {
		fields := append(sessionFields(s), zap.Stringer("entity", entity))
		if e := s.Ending(); e != nil {
			fields = append(fields, zap.Stringer("code", e.Code))
			if e.Detail != "" {
				fields = append(fields, zap.String("why", e.Detail))
			}
		}
		auditLogger(errs.log).Info(text, fields...)
	}
	after := func(text string, f func(*Session)) func(*Session) {
		return func(s *Session) {
			line(text, s, s.Entity())
			if f != nil {
				f(s)
			}
		}
	}
	join := g.Join
	g.Join = func(s *Session) (entity world.Entity, err error) {
		if join != nil {
			entity, err = join(s)
		}
		if err == nil {
			line("joined", s, entity)
		} else {
			errs.logJoin(s, err)
		}
		return entity, err
	}
	g.Away, g.Back, g.Leave = after("away", g.Away), after("back", g.Back), after("left", g.Leave)
	return g
}

func (r *run) logPanic(p session.HookPanic) {
	r.log.Error("the game panicked: its session ends", zap.Stringer("hook", p.Hook), zap.Uint64("session", p.Session),
		zap.String("panic", fmt.Sprint(p.Value)), zap.ByteString("stack", p.Stack))
}

// logResync logs that a client asked for all states again.
func (r *run) logResync(of *session.Session) {
	r.log.Warn("a client computed other bodies than the server, or too late: all states are sent to it again",
		zap.Uint64("session", of.ID()), zap.String("user", of.User()), zap.String("name", of.Name()))
}
