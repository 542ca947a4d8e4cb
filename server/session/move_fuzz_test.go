package session

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/internal/racetest"
	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/world"
)

// hostile plays the script of a client on rooms. The game moves the client. The client
// breaks its connection, resumes with any secret that it had, and sends arbitrary
// acknowledgements, answers and commands.
type hostile struct {
	*testRooms
	conn    *roomClient
	secrets [][]byte
	session uint64
}

func (x *hostile) play(op, arg byte) {
	h := x.testRooms
	send := func(m wire.Message) { _ = x.conn.Send(m) }
	for _, w := range x.conn.Welcomes {
		x.secrets, x.session = append(x.secrets, w.Secret), w.Session
	}
	x.conn.Welcomes = nil
	name := [...]string{"one", "two", "three"}[arg%3]
	switch op % 12 {
	case 0, 1:
		for _, c := range h.rooms {
			if s := c.Session(x.session); s != nil {
				_ = s.Move(name)
			}
		}
	case 2:
		send(wire.Arrived{})
	case 3:
		send(wire.Command{ID: uint32(arg), Name: "touch", Target: bulk.NewHandle(uint32(arg%16), uint32(arg%3)*world.RunGenerations+1)})
	case 4:
		send(wire.Resync{})
	case 5, 6:
		in := wire.Input{Stamp: 1, Ack: wire.Ack{Structure: uint32(arg >> 3)}}
		d := in.Append(nil)
		if arg&1 == 1 { // patched in, since Append refuses a newest snapshot of 0
			d[5] = 1
			binary.LittleEndian.PutUint32(d[6:], uint32(arg>>1&1+arg>>2&15))
		}
		_, _ = x.conn.peer.ReceiveDatagram(d)
	case 7:
		x.conn.peer.Gone()
	case 8:
		if n := len(x.secrets); n > 0 {
			x.conn = h.dial(func(m *wire.Hello) {
				m.Session, m.Secret, m.Structure, m.Room = x.session, x.secrets[int(arg)%n], uint32(arg>>4), name
			})
		}
	case 9:
		x.conn = h.dial(toRoom(name))
	case 10:
		h.rooms[name].Receive()
	default:
		h.tick(1 + int(arg%4))
	}
}

// playMoves plays a script next to a good client, and checks that the good client is
// served.
func playMoves(t *testing.T, script []byte) {
	h := newMovingRooms(t, func(*RouterConfig) {})
	touched := map[string]int{}
	own := h.change
	h.change = func(c *Config) {
		own(c)
		first := uint32(len(h.rooms))*world.RunGenerations + 1
		c.Hooks.Commands = []Command{OnRawCommand("touch", func(s *Session, target world.Entity, _ []byte) error {
			touched[s.Room()]++
			if target != 0 {
				require.GreaterOrEqual(t, target.Generation(), first)
				require.Less(t, target.Generation(), first+world.RunGenerations)
			}
			return nil
		})}
	}
	three := h.add("three")
	good := h.join("three")
	x := &hostile{testRooms: h}
	x.conn = h.dial(toRoom("one"))
	for script = script[:min(len(script), 600)]; len(script) >= 2; script = script[2:] {
		x.play(script[0], script[1])
		require.NoError(t, good.SendInput(good.Ack()))
		live := map[uint64]int{}
		for _, c := range h.rooms {
			for s := range c.Sessions() {
				live[s.id]++
				require.Same(t, c, h.router.sessions[s.id].core)
			}
			for _, t := range c.requests.arriving {
				live[t.id]++
			}
		}
		for id, n := range live {
			require.Equal(t, 1, n, "session %d is in %d rooms", id, n)
		}
		require.Len(t, h.router.sessions, len(live))
	}
	h.tick(3)
	require.Empty(t, good.Closed, "%v", good.Ended)
	before := touched["three"]
	h.send(good, wire.Command{ID: 1, Name: "touch", Target: three.Session(good.peer.ID()).Entity()})
	h.tick(1)
	require.Equal(t, before+1, touched["three"])
}

// FuzzMoves plays scripts of a hostile client that the game moves: no panic, every session
// is in one room, commands reach no entity of another room, and other clients are served.
func FuzzMoves(f *testing.F) {
	f.Add([]byte{11, 0, 0, 1, 11, 1, 2, 0, 3, 1, 11, 0})
	f.Add([]byte{11, 0, 5, 0, 7, 0, 11, 0, 0, 1, 11, 2, 8, 0, 11, 1, 8, 17, 11, 0})
	f.Add([]byte{11, 0, 0, 1, 10, 0, 0, 2, 10, 1, 2, 0, 2, 0, 2, 0, 11, 0})
	f.Add(bytes.Repeat([]byte{11, 3}, 300)) // longer than a client may stay without acknowledging
	f.Fuzz(playMoves)
}

// TestHostileMoves plays random scripts of FuzzMoves.
func TestHostileMoves(t *testing.T) {
	racetest.SkipSequential(t)
	rng := rand.New(rand.NewPCG(4, 4))
	for range 300 {
		script := make([]byte, 2*(1+rng.IntN(200)))
		for i := range script {
			script[i] = byte(rng.Uint32())
		}
		playMoves(t, script)
	}
}
