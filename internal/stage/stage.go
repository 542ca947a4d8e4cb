package stage

import (
	"fmt"
	"iter"
	"math"
	"math/rand/v2"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/internal/bitio"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/rowcodec"
	"github.com/worldd/worldd/internal/rowschema"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/world"
)

// Messages returns the types and bodies of the whole messages in a stream.
func Messages(stream []byte) iter.Seq2[byte, []byte] {
	return func(yield func(kind byte, body []byte) bool) {
		var frames wire.FrameReader
		frames.Feed(stream)
		for {
			kind, body, ok, err := frames.Next()
			mustRead(err)
			if !ok || !yield(kind, body) {
				return
			}
		}
	}
}

// FirstMessage returns the body of the first message in a stream. It panics unless that has a type.
func FirstMessage(stream []byte, want byte) []byte {
	for kind, body := range Messages(stream) {
		if kind != want {
			panic(fmt.Sprintf("stage: a message of type %d, want %d", kind, want))
		}
		return body
	}
	panic("stage: no whole message")
}

// Random returns a source of secrets for session.Config.Random.
func Random(seed byte) *rand.ChaCha8 { return rand.NewChaCha8([32]byte{seed}) }

// Crates is a world on flat ground and its kind "crate": spheres of radius 0.5 and mass 1, with friction.
type Crates struct {
	*world.World
	Crate world.KindID
}

// NewCrates returns a world without entities.
func NewCrates(c world.Config) Crates {
	w := must.Get(world.New(c))
	return Crates{w, must.Get(w.AddKind(world.Kind{Name: "crate", Body: &world.BodyDef{Mass: 1, Radius: 0.5, Friction: 1}}))}
}

// Put spawns a crate at rest on the ground.
func (w Crates) Put(x, z float32) world.Entity {
	return must.Get(w.Spawn(w.Crate, world.Vec3{X: x, Y: 0.5, Z: z}, world.Vec3{}))
}

// Hello returns the Hello of a client with the schema that a server sends (session.Config.Schema of a
// Core). A client without a schema asks for its text.
func Hello(s *schema.Schema) wire.Hello {
	h := wire.Hello{Protocol: wire.Version, Tables: rowcodec.DefaultTables().Version()}
	if s != nil {
		h.Schema = s.Hash()
	}
	return h
}

// Welcome returns the Welcome of a server with schema s to a client that asks for its text, for tests that
// play the server. Its session has 100 slots, and begins in the world's first tick.
func Welcome(s *schema.Schema) wire.Welcome {
	return wire.Welcome{
		Protocol: wire.Version, Schema: s.Hash(), SchemaText: s.Text(), Tables: rowcodec.DefaultTables().Version(), Epoch: 1,
		GenerationFloor: 1, GenerationCeiling: math.MaxUint32, TickHz: 60, SnapshotHz: 20, MaxSlots: 100, Session: 7, Secret: make([]byte, wire.SecretBytes),
	}
}

// Structure returns the body of a Structure message, the first of whose records has a number. The message
// is of the tick that many ticks after the last one.
func Structure(number, ticks uint32, records ...wire.Record) []byte {
	body := wire.AppendStructureHeader(nil, number, ticks)
	for _, r := range records {
		body = wire.AppendRecord(body, r)
	}
	return body
}

// Enter returns an Enter with a row, of a server with schema s.
func Enter(s *schema.Schema, h bulk.Handle, row rowschema.Row) wire.Record {
	var w bitio.Writer
	rowschema.New(s).AppendFull(&w, row)
	return wire.Record{Op: wire.OpEnter, Handle: h, Owned: row.Owned, Row: w.Bytes()}
}
