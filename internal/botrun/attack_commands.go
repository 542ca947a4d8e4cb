package botrun

import (
	"context"
	"time"

	"github.com/quic-go/quic-go"

	"github.com/worldd/worldd/replication/wire"
)

// sendCommands sends commands faster than any limit: half of them are valid, the others have
// malformed arguments, wrong targets or unknown names. Each has to be refused by its code,
// without ending the session.
func (a *attacker) sendCommands(ctx context.Context, conn *quic.Conn, stream *quic.Stream) {
	welcomed, refused := make(chan struct{}), make(chan map[string]uint64, 1)
	go func() { refused <- readRefusals(stream, welcomed) }()
	defer func() {
		_ = stream.SetReadDeadline(time.Now()) // ends the reader
		for code, n := range <-refused {
			a.done.Refused[code] += n
		}
	}()
	select {
	case <-welcomed:
	case <-conn.Context().Done():
	case <-ctx.Done():
	}
	for id := uint32(1); ctx.Err() == nil && conn.Context().Err() == nil; id++ {
		if _, err := stream.Write(wire.AppendMessage(nil, a.makeCommand(id))); err != nil {
			return
		}
		a.done.Messages++
		pauseFor(ctx, 2*time.Millisecond)
	}
}

// validCommand returns a command that the game executes, or one that it lacks.
func (a *attacker) validCommand(id uint32) wire.Command {
	c := wire.Command{ID: id, Name: "worldd attack"}
	if flood := a.config.Player.Flood; flood != nil {
		c.Name, c.Args = flood(a.rng)
	}
	return c
}

// makeCommand returns command id of the attack: valid, malformed, misdirected or unknown.
func (a *attacker) makeCommand(id uint32) wire.Command {
	c := a.validCommand(id)
	noise := make([]byte, a.rng.IntN(wire.MaxCommandArgs-len(c.Args)+1))
	for i := range noise {
		noise[i] = byte(a.rng.Uint32())
	}
	switch id % 10 {
	case 0:
		c.Args = noise
	case 1:
		c.Args = append(c.Args[:len(c.Args):len(c.Args)], noise...)
	case 2, 4:
		c.Args = c.Args[:a.rng.IntN(len(c.Args)+1)]
	case 3:
		c.Target = forgeHandle(a.rng, wire.MaxSlots)
	case 5:
		c.Name = "no such command"
	}
	return c
}

// readRefusals reads a stream to its end and counts the refused commands by code. It closes
// welcomed at the first message.
func readRefusals(stream *quic.Stream, welcomed chan<- struct{}) map[string]uint64 {
	refused := map[string]uint64{}
	var frames wire.FrameReader
	buf, first := make([]byte, 4096), true
	for {
		n, err := stream.Read(buf)
		frames.Feed(buf[:n])
		for kind, body, ok, e := frames.Next(); ok && e == nil; kind, body, ok, e = frames.Next() {
			if first {
				close(welcomed)
				first = false
			}
			if kind != wire.TypeResult {
				continue
			}
			if r, e := wire.Parse[wire.Result](body); e == nil && r.Code != wire.OK {
				refused[r.Code.String()]++
			}
		}
		if err != nil {
			return refused
		}
	}
}
