package host

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"time"

	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/server"
	"github.com/worldd/worldd/world"
)

// Travellers of the caravan go from room to room, and count their ways.
type (
	goTo struct {
		Room string `net:"max=64"`
	}
	askWays struct{}
	ways    struct {
		User string `net:"max=32"`
		Ways uint32
	}
	owner struct {
		User string `net:"max=32"`
	}
)

var (
	caravanSchema = schema.NewWithBody()
	goCommand     = schema.DefineCommand[goTo](caravanSchema, "go")
	waysQuery     = schema.DefineQuery[askWays, ways](caravanSchema, "ways")
	owners        = schema.Define[owner](caravanSchema, "owner")
)

// journeyFile is the variable of a file to which every process appends: join or leave, USER, ROOM.
const journeyFile = "CARAVAN_TEST_JOURNEYS"

func noteJourney(what, user, room string) {
	f := must.Get(os.OpenFile(os.Getenv(journeyFile), os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600))
	defer f.Close()
	must.Get(fmt.Fprintln(f, what, user, room)) // in one write
}

// purse is the file with the number that a user carried at the newest departure.
func purse(user string) string { return os.Getenv(journeyFile) + "." + user }

// caravan is a game with rooms, whose players carry a number.
func caravan() Definition {
	return Definition{
		Name: "caravan", About: "Rooms on several nodes.",
		Admit: func(_ context.Context, token []byte) (server.Admission, error) {
			a := server.Admission{User: string(token)}
			saved, err := os.ReadFile(purse(a.User))
			n, _ := strconv.ParseUint(string(saved), 10, 32) // 0 without a file
			a.Value = uint32(n)
			if errors.Is(err, fs.ErrNotExist) {
				err = nil
			}
			return a, err
		},
		Rooms: &server.RoomsConfig{
			Kinds: map[string]server.RoomKind{"inn": {}},
			Carry: func(v any) ([]byte, error) { return json.Marshal(v) },
			Arrive: func(b []byte) (any, error) {
				var n uint32
				err := json.Unmarshal(b, &n)
				return n, err
			},
			Depart: func(_ context.Context, t server.Traveller) error {
				noteJourney("depart", t.User, t.From)
				return os.WriteFile(purse(t.User), fmt.Append(nil, t.Value), 0o600)
			},
		},
		New: newCaravan,
	}
}

func newCaravan(o Options) (*Instance, error) {
	w := Must(world.New(world.Config{MaxEntities: 256, FirstGeneration: o.Room.Generations.First, LastGeneration: o.Room.Generations.Last}))
	camel := Must(w.AddKind(world.Kind{Name: "camel", Body: &world.BodyDef{Radius: 1}}))
	who := Must(server.Register(w, owners, camel))
	run := fmt.Sprint(os.Getpid(), "-", time.Now().UnixNano())
	must.Do(w.AddSystem(world.After, "owner", func(w *world.World) { noteOwner(o.Room.Name, run, w.Tick()) }))
	count := func(s *server.Session) uint32 {
		n, _ := s.Value().(uint32)
		return n
	}
	return &Instance{WorldConfig: server.WorldConfig{World: w, Schema: caravanSchema, Hooks: server.Hooks{
		Join: func(s *server.Session) (world.Entity, error) {
			noteJourney("join", s.User(), o.Room.Name)
			e, err := w.Spawn(camel, world.Vec3{}, world.Vec3{})
			who.Set(e, owner{s.User()})
			return e, err
		},
		Leave: func(s *server.Session) {
			noteJourney("leave", s.User(), o.Room.Name)
			s.SetValue(count(s) + 1)
			w.Destroy(s.Entity())
		},
		SaveSession: func(s *server.Session, b []byte) []byte { return binary.LittleEndian.AppendUint32(b, count(s)) },
		RestoreSession: func(s *server.Session, saved []byte) error {
			s.SetValue(binary.LittleEndian.Uint32(saved))
			return nil
		},
		Commands: []server.Command{
			server.OnCommand(goCommand, func(s *server.Session, _ world.Entity, to goTo) error { return s.Move(to.Room) }),
			server.OnQuery(waysQuery, func(s *server.Session, _ world.Entity, _ askWays) (ways, error) { return ways{s.User(), count(s)}, nil }),
		},
	}}}, nil
}
