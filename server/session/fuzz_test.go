package session_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/internal/rowschema"
	"github.com/worldd/worldd/replication/wire"
)

// FuzzSession plays a script of messages, garbage, datagrams and ticks on a session, next
// to a well-behaved session: no panic, at most one end, and no effect on the other.
func FuzzSession(f *testing.F) {
	f.Add([]byte{0, 0, 4, 0, 1, 3, 4, 0, 2, 0, 4, 0, 3, 0, 4, 0})
	f.Add([]byte{1, 9, 4, 0})
	f.Add([]byte{7, 1}) // before any Hello
	f.Add([]byte{0, 0, 4, 0, 5, 7, 2, 255, 4, 0, 6, 40, 4, 0})
	f.Fuzz(func(t *testing.T, script []byte) {
		d := newTestServer(t)
		good, bad := d.join(), d.connect()
		for script = script[:min(len(script), 400)]; len(script) >= 2; script = script[2:] {
			bad.play(script[0], script[1], script[2:])
		}
		d.core.Tick()
		require.LessOrEqual(t, len(bad.Closed), 1)
		require.Empty(t, good.Closed, "S2: the other session ended")
		require.Equal(t, wire.Live, good.peer.Session().Resolve(good.peer.Session().Entity()), "S2: the good client's entity")
		good.send(wire.Command{ID: 1, Name: "poke", Target: good.peer.Session().Entity()})
		good.wantResult("S2: the good client is served", 1, wire.OK, wire.Live)
	})
}

// FuzzTyped sends arguments and inputs of any bytes. Well-formed messages reach the game
// with the values that the schema restores; all others do not reach it. A provisional
// handle that its command does not name is malformed.
func FuzzTyped(f *testing.F) {
	d := newTypedServer(f)
	for _, in := range []toss{{}, {Speed: 3, At: bulk.NewHandle(5, 2), Shout: "é"}, {At: bulk.NewHandle(1<<24-1, 1<<31|1)}} {
		f.Add(d.encode(in), d.encode(stick{X: int8(in.Speed), Fire: in.At != 0}))
	}
	f.Add([]byte{0xff, 0xff, 0xff}, []byte{1, 2})
	f.Fuzz(func(t *testing.T, args, input []byte) {
		d := newTypedServer(t)
		good, c := d.join(), d.join()
		args = args[:min(len(args), wire.MaxCommandArgs)]
		c.send(wire.Command{ID: 1, Name: "toss", Args: args})
		i, _ := d.core.Config().Schema.CommandByName("toss")
		var want toss
		if r := c.result(); rowschema.NewMessage(d.core.Config().Schema.Commands()[i].Args).ReadValue(args, &want) == nil && (want.At == 0 || want.At.Valid()) {
			require.Equal(t, wire.OK, r.Code)
			require.Equal(t, []toss{want}, d.tossed)
		} else {
			require.Equal(t, wire.BadArguments, r.Code)
			require.Empty(t, d.tossed)
		}
		tick, data := uint32(d.world.Tick())+1, input[:min(len(input), wire.MaxInputBytes)]
		c.queueInput(wire.Ack{}, wire.TickInput{Tick: tick, Data: data})
		d.tick()
		var pushed stick
		if rowschema.NewMessage(d.core.Config().Schema.Input()).ReadValue(data, &pushed) == nil {
			require.Equal(t, []string{fmt.Sprint(tick, pushed)}, d.steps)
			require.Empty(t, c.Closed)
		} else {
			require.Empty(t, d.steps)
			require.Equal(t, []wire.Code{wire.BadMessage}, c.Closed)
		}
		require.Empty(t, good.Closed, "S2: the other session ended")
	})
}

// play runs one step of a script and ignores the session's verdict.
func (c *testClient) play(op, arg byte, rest []byte) {
	send := func(m wire.Message) { _ = c.Send(m) }
	target := bulk.NewHandle(uint32(arg%8), uint32(arg>>3)|1)
	switch op % 8 {
	case 0:
		send(c.d.hello(func(h *wire.Hello) { h.Epoch *= uint64(arg % 3) }))
	case 1:
		_ = c.peer.ReceiveStream(rest[:min(len(rest), int(arg))])
	case 2:
		ack := wire.Ack{Structure: uint32(arg % 16)}
		if arg > 0 {
			ack.Seen, ack.Newest, ack.Mask = true, uint32(arg), uint64(arg)*0x9e3779b97f4a7c15
		}
		_ = c.SendInput(ack, wire.TickInput{Tick: uint32(arg), Data: rest[:min(len(rest), wire.MaxInputBytes)]})
	case 3:
		for range int(arg) + 1 {
			send(wire.Command{ID: uint32(arg), Name: "poke", Target: target})
		}
	case 4:
		c.d.core.Tick()
	case 5:
		send(wire.Resync{})
	case 6:
		_, _ = c.peer.ReceiveDatagram(rest[:min(len(rest), int(arg))])
	case 7:
		c.Full = arg%4 == 0
		if s := c.peer.Session(); s != nil && arg%8 == 1 {
			c.d.world.Destroy(s.Entity())
		}
		if arg%16 == 2 {
			c.peer.Gone()
		}
	}
}
