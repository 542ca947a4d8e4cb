package session_test

import (
	"bytes"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/alloctest"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/server/session"
	"github.com/worldd/worldd/world"
)

// savingServer is a server whose notes the test collects. Its game's value of a session is a text.
type savingServer struct {
	*testServer
	hooks []string // in the order of their calls
	fail  error    // of RestoreSession
}

func newSavingServer(t testing.TB, changes ...func(*session.Config)) *savingServer {
	d := &savingServer{}
	d.testServer = newTestServerWith(t, func(c *session.Config) {
		h, join, leave := &c.Hooks, c.Hooks.Join, c.Hooks.Leave
		h.Join = func(s *session.Session) (world.Entity, error) {
			d.hooks = append(d.hooks, "join")
			s.SetValue("level 1")
			return join(s)
		}
		h.Leave = func(s *session.Session) {
			d.hooks = append(d.hooks, "leave")
			leave(s)
		}
		h.SaveSession = func(s *session.Session, b []byte) []byte { return append(b, s.Value().(string)...) }
		h.RestoreSession = func(s *session.Session, saved []byte) error {
			d.hooks = append(d.hooks, "restore")
			s.SetValue(string(saved))
			return d.fail
		}
		h.Commands = append(h.Commands, command("name", func(s *session.Session, _ world.Entity) error {
			for p := range s.Provisionals() {
				return s.Bind(p, d.spawn(3))
			}
			return nil
		}))
		for _, change := range changes {
			change(c)
		}
	})
	d.game.Away = func(*session.Session) { d.hooks = append(d.hooks, "away") }
	d.game.Back = func(*session.Session) { d.hooks = append(d.hooks, "back") }
	d.notes = &session.Notes{}
	return d
}

// crash replaces the core by a restored one. The world stays: its recovery is another package's.
func (d *savingServer) crash() (restored int, err error) {
	config := d.core.Config()
	config.Schema = schema.NewWithBody()
	d.core.Close()
	d.core = must.Get(session.NewCore(config))
	d.hooks = nil
	return d.core.RestoreSessions(d.notes)
}

// A session survives a crash: entities, counters and the game's value are as before, and its client begins
// with an empty view of the same run.
func TestRestoredSession(t *testing.T) {
	d := newSavingServer(t)
	c, w := d.enter(withName("ada"))
	far, camera := d.spawn(1000), d.spawn(500)
	s := c.peer.Session()
	s.Own(far)
	s.SetViewpoint(camera)
	s.SetValue("level 2")
	c.send(wire.Command{ID: 1, Name: "poke"}, wire.Command{ID: 2, Name: "name", FirstProvisional: 5, Provisionals: 2})
	d.ticks(5)
	entity, began := s.Entity(), d.core.Infos(0, 1)[0].Age
	require.NotEmpty(t, c.Records)

	require.Equal(t, 1, must.Get(d.crash()))
	require.Equal(t, []string{"restore", "away"}, d.hooks)
	require.Equal(t, []int{0, 1, 0}, d.counts())
	d.tick()
	s = d.core.Session(w.Session)
	require.Equal(t, []any{"ada", "level 2", entity, true}, []any{s.Name(), s.Value(), s.Entity(), s.Away()})
	require.Greater(t, d.core.Infos(0, 1)[0].Age, began)

	c, next := d.resume(w, func(h *wire.Hello) { h.Structure = c.Records })
	require.Equal(t, []any{uint8(0), w.Session, w.Epoch, uint32(2)}, []any{next.Resumed, next.Session, next.Epoch, next.Commands})
	require.Greater(t, next.Structure, c.Records)
	require.NotEqual(t, w.Secret, next.Secret)
	c.wantControl("its entity", entity)
	require.Equal(t, []string{"restore", "away", "back"}, d.hooks)
	d.ticks(9)
	require.Equal(t, wire.Live, s.Resolve(far), "it still owns the entity")
	require.Equal(t, wire.Live, s.Resolve(camera), "it still views the world from there")
	c.Skip()
	c.input(c.Ack())
	c.send(wire.Command{ID: 3, Name: "name", FirstProvisional: 6, Provisionals: 1})
	c.wantResult("a provisional handle that a command before the crash named", 3, wire.BadArguments, wire.Live)
	c.send(wire.Command{ID: 4, Name: "name", FirstProvisional: 7, Provisionals: 1})
	c.wantResult("the next one", 4, wire.OK, wire.Live)
	require.EqualValues(t, 1, d.core.Stats().Restored)

	other, w2 := d.enter()
	require.Greater(t, w2.Session, w.Session)
	require.NotNil(t, other.peer.Session())
}

// The Welcome after a crash may be lost too. Once the client has confirmed it, earlier secrets are void.
func TestRestoredSecrets(t *testing.T) {
	d := newSavingServer(t)
	c, first := d.enter()
	c.lose()
	_, second := d.resume(first) // not confirmed
	require.EqualValues(t, 1, second.Resumed)
	must.Get(d.crash())
	c, third := d.resume(first, func(h *wire.Hello) { h.Structure = 3 })
	require.Equal(t, []any{uint8(0), first.Session}, []any{third.Resumed, third.Session})
	c.lose()
	c, fourth := d.resume(first)
	require.Equal(t, []any{uint8(0), first.Session, third.Structure}, []any{fourth.Resumed, fourth.Session, fourth.Structure})
	c.input(wire.Ack{Structure: fourth.Structure})
	c.lose()
	_, late := d.resume(first)
	require.NotEqual(t, first.Session, late.Session)
	_, fifth := d.resume(fourth, func(h *wire.Hello) { h.Structure = fourth.Structure })
	require.Equal(t, []any{uint8(1), first.Session}, []any{fifth.Resumed, fifth.Session})
}

// A client that says that it has structure which only later ticks can have sent has seen ticks that the
// crash undid: it begins a new session.
func TestRestoreUndoesTicks(t *testing.T) {
	d := newSavingServer(t)
	c, w := d.enter()
	c.lose()
	d.tick()
	must.Get(d.crash())
	_, next := d.resume(w, func(h *wire.Hello) { h.Structure = 1 << 30 })
	require.NotEqual(t, w.Session, next.Session)
	require.Equal(t, []string{"restore", "leave", "join"}, d.hooks, "Away was called before the crash")
	require.EqualValues(t, 1, d.core.Stats().Closed[wire.Spent])
}

// The grace period of a restored session begins with the restart.
func TestRestoredGrace(t *testing.T) {
	d := newSavingServer(t, func(c *session.Config) { c.Grace = time.Second })
	c, _ := d.enter()
	c.lose()
	d.ticks(50)
	must.Get(d.crash())
	d.ticks(60)
	require.Equal(t, []int{0, 1, 0}, d.counts())
	d.tick()
	require.Equal(t, []int{0, 0, 1}, d.counts())
	require.Equal(t, 0, d.notes.Sessions())
}

// A session that RestoreSession refuses ends with Leave, and so does one that no client can resume.
func TestRestoreFails(t *testing.T) {
	d := newSavingServer(t)
	d.enter()
	d.fail = errors.New("no such level")
	restored, err := d.crash()
	require.Zero(t, restored)
	require.ErrorContains(t, err, "server: session 1: RestoreSession: no such level")
	require.Equal(t, []string{"restore", "leave"}, d.hooks)
	d.tick()
	require.Zero(t, d.core.Len())
	require.Zero(t, d.notes.Sessions(), "a later crash does not bring it back")

	d = newSavingServer(t, func(c *session.Config) {
		c.Hooks.RestoreSession = func(*session.Session, []byte) error { panic("a bug") }
	})
	d.enter()
	restored, err = d.crash()
	require.Zero(t, restored)
	require.Error(t, err)
	require.Equal(t, []string{"leave"}, d.hooks)
	require.EqualValues(t, 1, d.core.Stats().Panics[session.HookRestore])

	d = newSavingServer(t, func(c *session.Config) { c.Grace = -1 })
	d.enter()
	require.Zero(t, must.Get(d.crash()))
	require.Equal(t, []string{"restore", "leave"}, d.hooks)
}

// Without hooks, notes hold no sessions. Sessions of an earlier version that had the hooks are reported.
func TestRestoreWithoutHooks(t *testing.T) {
	without := func(c *session.Config) { c.Hooks.SaveSession, c.Hooks.RestoreSession = nil, nil }
	d := newSavingServer(t, without)
	d.enter()
	require.Zero(t, d.notes.Sessions())
	require.Zero(t, must.Get(d.crash()))
	_, w := d.enter()
	require.EqualValues(t, 2, w.Session, "ids stay unique in the run")

	saving := newSavingServer(t)
	saving.enter()
	d.notes = saving.notes
	_, err := d.crash()
	require.ErrorContains(t, err, "holds 1 sessions, and Hooks.RestoreSession is not set")

	_, err = session.NewCore(session.Config{WorldConfig: session.WorldConfig{Hooks: session.Hooks{SaveSession: func(_ *session.Session, b []byte) []byte { return b }}}})
	require.ErrorContains(t, err, "one of Hooks.SaveSession and RestoreSession is set")
}

// A session whose value is too large, or whose SaveSession panics, ends: it could not be restored.
func TestSaveSessionFails(t *testing.T) {
	for _, value := range []any{strings.Repeat("x", session.MaxSessionValue+1), 5} {
		d := newSavingServer(t)
		c, w := d.enter()
		c.peer.Session().SetValue(value)
		d.ticks(2)
		c.wantGoodbye(wire.Internal)
		require.Equal(t, []any{uint64(1), 0}, []any{d.core.Stats().Panics[session.HookSave], d.notes.Sessions()})
		require.Nil(t, d.core.Session(w.Session))
	}
	d := newSavingServer(t)
	c, w := d.enter()
	value := strings.Repeat("x", session.MaxSessionValue)
	c.peer.Session().SetValue(value)
	d.tick()
	must.Get(d.crash())
	require.Equal(t, value, d.core.Session(w.Session).Value())
}

// A SaveSession that panics leaves the notes of the other sessions. Its calls of a tick are timed together.
func TestSaveSessionFailsForOne(t *testing.T) {
	d := newSavingServer(t, func(c *session.Config) { c.MaxSessions = 3 })
	now, slow := time.Duration(0), []session.SlowHook{}
	d.core.OnSlowHook(func() time.Duration {
		now += time.Second
		return now
	}, func(h session.SlowHook) {
		if h.Hook == session.HookSave {
			slow = append(slow, h)
		}
	})
	var clients []*testClient
	for range 3 {
		c, _ := d.enter()
		clients = append(clients, c)
	}
	d.tick()
	require.Equal(t, 3, d.notes.Sessions())
	clients[1].peer.Session().SetValue(5)
	clients[0].peer.Session().SetValue("before it")
	clients[2].peer.Session().SetValue("behind it")
	slow = slow[:0]
	d.tick()
	require.Equal(t, []session.SlowHook{{Hook: session.HookSave, Took: time.Second}}, slow)
	d.tick()
	clients[1].wantGoodbye(wire.Internal)
	require.EqualValues(t, 1, d.core.Stats().Panics[session.HookSave])
	first, last := clients[0].peer.Session().ID(), clients[2].peer.Session().ID()
	require.Equal(t, 2, must.Get(d.crash()))
	require.Equal(t, "before it", d.core.Session(first).Value())
	require.Equal(t, "behind it", d.core.Session(last).Value())
}

// A note says what has changed since the last one, and a note of everything equals the sum of all.
func TestNotesAreDifferences(t *testing.T) {
	d := newSavingServer(t, func(c *session.Config) { c.MaxSessions = 3 })
	note := func() []byte {
		d.core.Receive()
		d.core.Step()
		b := d.core.AppendNotes([]byte("before"), false)
		d.core.Send(func() bool { return false })
		require.Equal(t, "before", string(b[:6]))
		require.NoError(t, d.notes.Add(b[6:]))
		return b[6:]
	}
	c, _ := d.enter()
	other, _ := d.enter()
	require.Empty(t, note())
	require.NoError(t, c.Send(wire.Command{ID: 1, Name: "poke"}))
	require.Less(t, len(note()), 40, "only the counters")
	require.Empty(t, note())
	c.peer.Session().SetValue("level 3")
	require.Less(t, len(note()), 20, "only the value")
	other.peer.Gone()
	d.ticks(2)
	require.Empty(t, note())
	check := func() {
		whole := &session.Notes{}
		require.NoError(t, whole.Add(d.core.AppendNotes(nil, true)))
		require.Equal(t, d.notes, whole)
		require.Equal(t, d.core.AppendNotes(nil, true), d.core.AppendNotes(nil, true))
		require.NoError(t, whole.Add(d.core.AppendNotes(nil, true)), "everything again")
		require.Equal(t, d.notes, whole)
	}
	check()
	d.core.Kick(2, "")
	d.core.Session(1).Own(d.spawn(50))
	require.NotEmpty(t, note())
	check()
	require.Equal(t, 1, d.notes.Sessions())
}

// Damaged notes are errors, never panics.
func FuzzNotes(f *testing.F) {
	d := newSavingServer(f)
	c, _ := d.enter(withName("ada"))
	c.peer.Session().Own(d.spawn(1))
	d.tick()
	whole := d.core.AppendNotes(nil, true)
	f.Add(whole)
	f.Add([]byte{})
	for n := 1; n < len(whole); n++ {
		if n > 3 {
			require.Error(f, new(session.Notes).Add(whole[:n]), "cut at %d", n)
		}
		f.Add(append(bytes.Clone(whole[:n]), whole...))
	}
	newer := bytes.Clone(whole)
	newer[0] += 2
	require.ErrorIs(f, new(session.Notes).Add(newer), session.ErrNoteVersion)
	f.Fuzz(func(t *testing.T, note []byte) {
		d := newSavingServer(t)
		if d.notes.Add(note) != nil || d.notes.Sessions() > 100 {
			return
		}
		restored, err := d.crash()
		if bytes.HasPrefix(note, []byte{2}) { // sessions on their way to other rooms: there are none
			return
		}
		require.NoError(t, err)
		require.LessOrEqual(t, restored, d.notes.Sessions())
		d.ticks(3)
		require.NoError(t, d.notes.Add(d.core.AppendNotes(nil, true)))
		require.Equal(t, d.core.Len(), d.notes.Sessions())
	})
}

// Notes of a warm tick cost no allocations.
func TestNotesAllocateNothing(t *testing.T) {
	alloctest.SkipAudited(t)
	d := newSavingServer(t, func(c *session.Config) { c.MaxSessions = 30 })
	for range 30 {
		d.enter()
	}
	b, n, values := []byte(nil), 0, [...]any{"level 1", "level 2"}
	note := func() {
		for s := range d.core.Sessions() {
			s.SetValue(values[n%2])
			s.Control(world.Entity(n%2) * s.Entity())
		}
		n++
		b = d.core.AppendNotes(b[:0], false)
	}
	note()
	require.Zero(t, testing.AllocsPerRun(100, note))
	require.Greater(t, len(b), 30*9)
}

// A session may end between the note of its last tick and a note of everything, as a journal's next segment
// begins with.
func TestNotesOfEndedSession(t *testing.T) {
	d := newSavingServer(t)
	c, _ := d.enter()
	d.core.Receive()
	d.core.Step()
	require.NoError(t, d.notes.Add(d.core.AppendNotes(nil, false)))
	c.peer.Left()
	d.core.Send(func() bool { return false })
	require.NoError(t, d.notes.Add(d.core.AppendNotes(nil, true)))
	require.Zero(t, d.notes.Sessions())
	d.tick()
	require.Zero(t, d.notes.Sessions())
}

// A server that stops abandons its sessions: the notes keep them, and their clients come back.
func TestRestoredAfterStop(t *testing.T) {
	d := newSavingServer(t, func(c *session.Config) { c.HoldOutput = true })
	c := d.dial()
	d.core.Release(d.world.Tick())
	w := c.wantWelcome("joins")
	d.tick()
	d.core.Release(math.MaxUint64)
	d.core.Abandon(&wire.Error{Code: wire.Draining})
	c.wantGoodbye(wire.Draining)
	require.Equal(t, 1, must.Get(d.crash()))
	c = d.dial(withSecret(w))
	d.core.Release(d.world.Tick())
	require.Equal(t, w.Session, c.wantWelcome("continues").Session)
	require.Equal(t, []string{"restore", "away", "back"}, d.hooks)
}
