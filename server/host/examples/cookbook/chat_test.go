package cookbook

import (
	"context"
	"log"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/client"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/server"
	"github.com/worldd/worldd/server/host"
	"github.com/worldd/worldd/world"
)

var talk = schema.NewWithBody()

var (
	saying  = schema.DefineCommand[Say](talk, "say")
	hearing = schema.DefineEvent[Hear](talk, "hear")
)

type (
	Say struct { // command
		Text string `net:"max=120"`
	}
	Hear struct { // event
		From string `net:"max=16"`
		Text string `net:"max=120"`
	}
)

// Muted is on the avatars of players who may not talk.
type Muted struct{ Until uint64 }

// chat sends what players say to a moderator, which may take seconds, and then to all.
type chat struct {
	world   *world.World
	muted   *world.Component[Muted]
	pending chan line
}

type line struct {
	avatar world.Entity
	Hear
}

// say never waits: the command runs on the goroutine of the world.
func (c *chat) say(s *server.Session, _ world.Entity, said Say) error {
	if m := c.muted.Get(s.Entity()); m != nil && c.world.Tick() < m.Until {
		return &server.Rejection{Text: "you are muted"}
	}
	select {
	case c.pending <- line{s.Entity(), Hear{s.Name(), said.Text}}:
		return nil
	default:
		return &server.Rejection{Text: "too many talk: say it again later"}
	}
}

// moderate runs on a goroutine of its own. allows is the hook: a list of words, or a service.
func (c *chat) moderate(ctx context.Context, room *server.Room, allows func(context.Context, string) (bool, error)) {
	for {
		select {
		case <-ctx.Done():
			return
		case said := <-c.pending:
			allowed, err := allows(ctx, said.Text)
			if err == nil {
				err = room.Do(ctx, func(w *world.World) error {
					if allowed {
						return room.Broadcast(said.Hear)
					}
					c.muted.Set(said.avatar, Muted{w.Tick() + 30*uint64(w.TickHz())}) // nothing if the player has left
					return nil
				})
			}
			if err != nil && ctx.Err() == nil {
				log.Printf("a line of %q is lost: %v", said.From, err)
			}
		}
	}
}

func TestChat(t *testing.T) {
	w, err := world.New(world.Config{Seed: 1})
	require.NoError(t, err)
	avatar := host.Must(w.AddKind(world.Kind{Name: "avatar", Body: &world.BodyDef{Kinematic: true}}))
	c := &chat{world: w, muted: host.Must(world.Register[Muted](w, "muted")), pending: make(chan line, 64)}
	config := server.Config{WorldConfig: server.WorldConfig{World: w, Schema: talk, Hooks: server.Hooks{
		Join:     func(*server.Session) (world.Entity, error) { return w.Spawn(avatar, world.Vec3{}, world.Vec3{}) },
		Commands: []server.Command{server.OnCommand(saying, c.say)},
	}}}
	ctx, s := serve(t, config, func(*server.Server) {})
	moderating, stop := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		c.moderate(moderating, s.Room(), func(_ context.Context, text string) (bool, error) { return !strings.Contains(text, "darn"), nil })
	}()
	var heard []string
	var events client.Events
	client.OnEvent(&events, hearing, func(_ uint32, e Hear) { heard = append(heard, e.From+": "+e.Text) })
	ann := dial(t, ctx, s, client.Config{Name: "ann", Schema: talk, Events: &events})
	ask := func(text string) error {
		f, err := client.Do(ann, saying, 0, Say{text})
		require.NoError(t, err)
		until(t, ctx, ann, func() bool { _, ok := f.Poll(); return ok })
		return answer(f)
	}
	require.NoError(t, ask("hello"))
	until(t, ctx, ann, func() bool { return len(heard) == 1 })
	require.NoError(t, ask("darn"))
	for err = nil; err == nil; err = ask("why?") {
		continue // until the moderator has read it
	}
	require.ErrorContains(t, err, "you are muted")
	stop()
	<-done
	require.NotContains(t, heard, "ann: darn")
	for len(c.pending) < cap(c.pending) { // the moderator may have left some
		c.pending <- line{}
	}
	bob := dial(t, ctx, s, client.Config{Name: "bob", Schema: talk})
	f, err := client.Do(bob, saying, 0, Say{"hello"})
	require.NoError(t, err)
	until(t, ctx, bob, func() bool { _, ok := f.Poll(); return ok })
	require.ErrorContains(t, answer(f), "too many talk")
}
