package bot

import (
	"context"
	"time"

	"github.com/quic-go/quic-go"

	"github.com/worldd/worldd/internal/rowschema"
	"github.com/worldd/worldd/internal/scenes/messages"
	"github.com/worldd/worldd/replication/wire"
)

// sendCommands sends renames and pokes faster than any limit. Half of the renames are valid;
// the other commands have malformed arguments, wrong targets or unknown names. The server must
// refuse each by its code, without ending the session.
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
	rename, err := renameArgs("attacker")
	if err != nil {
		return
	}
	for id := uint32(1); ctx.Err() == nil && conn.Context().Err() == nil; id++ {
		if _, err := stream.Write(wire.AppendMessage(nil, a.makeCommand(id, rename))); err != nil {
			return
		}
		a.done.Messages++
		pauseFor(ctx, 2*time.Millisecond)
	}
}

// makeCommand returns command id of the attack: valid, malformed, misdirected or unknown.
func (a *attacker) makeCommand(id uint32, rename []byte) wire.Command {
	c := wire.Command{ID: id, Name: messages.RenameCommand.Name(), Args: rename}
	noise := make([]byte, a.rng.IntN(wire.MaxCommandArgs-len(rename)+1))
	for i := range noise {
		noise[i] = byte(a.rng.Uint32())
	}
	switch id % 10 {
	case 0:
		c.Args = noise
	case 1:
		c.Args = append(rename[:len(rename):len(rename)], noise...)
	case 2:
		c.Args = rename[:len(rename)-1]
	case 3:
		c.Target = forgeHandle(a.rng, wire.MaxSlots)
	case 4:
		c = wire.Command{ID: id, Name: messages.PokeCommand, Args: pokeArgs(a.rng.Uint64())[:1+a.rng.IntN(8)]}
	case 5:
		c.Name = "rename me"
	}
	return c
}

// renameArgs encodes the argument of a rename.
func renameArgs(name string) ([]byte, error) {
	i, _ := messages.Schema.CommandByName(messages.RenameCommand.Name())
	return rowschema.NewMessage(messages.Schema.Command(i).Args).AppendValue(nil, messages.Rename{Name: name})
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
