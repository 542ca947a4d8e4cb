package server_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/quic-go/quic-go"
	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/client"
	"github.com/worldd/worldd/internal/bitio"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/rowcodec"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/server"
	"github.com/worldd/worldd/world"
)

// Clients receive the world's first generation as their floor: lower handles are stale.
func TestGenerationFloor(t *testing.T) {
	for _, first := range []uint32{1, 9} {
		w := must.Get(world.New(world.Config{FirstGeneration: first}))
		config := server.Config{
			Listen: "127.0.0.1:0",
			WorldConfig: server.WorldConfig{
				World: w, Schema: schema.NewWithBody(), Epoch: testEpoch,
			},
		}
		h := newTestServerWith(t, func(theirs *server.Config) { *theirs = config })
		require.Equal(t, first, h.dial().Welcome().GenerationFloor)
	}
}

// A game's refusal keeps its code. An error without a code is final, unless the world is full.
func TestJoinSaysWhy(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		why    error
		code   wire.Code
		detail string
	}{
		{errors.New("closed for a wedding"), wire.JoinRefused, "closed for a wedding"},
		{fmt.Errorf("inn: %w", world.ErrFull), wire.ServerFull, "inn"},
		{fmt.Errorf("inn: %w", &wire.Error{Code: wire.Unauthorized, Detail: "no ring"}), wire.Unauthorized, "no ring"},
		{&wire.Error{Detail: "ok is no refusal"}, wire.JoinRefused, "ok is no refusal"},
	} {
		h := newTestServerWith(t, func(s *server.Config) {
			s.Hooks.Join = func(*server.Session) (world.Entity, error) { return 0, c.why }
		})
		_, err := client.Dial(h.ctx, h.config())
		require.Equal(t, c.code, wire.CodeOf(err))
		require.ErrorContains(t, err, c.detail)
	}
}

// A client that receives more than its limit ends for good, and the log names the server as at
// fault.
func TestClientKeepsNoMore(t *testing.T) {
	h, logs := newLoggedTestServer(t, func(*server.Config) {})
	config := h.config()
	config.GiveUp, config.MaxEntities = 0, 5 // there are five crates, and the client's own entity
	c, err := client.Dial(h.ctx, config)
	if err == nil {
		err = h.ends(c)
		require.Equal(t, client.Ended, c.State(), "and not reconnecting")
		require.NoError(t, c.Close())
	}
	require.ErrorIs(t, err, client.ErrLimit)
	require.ErrorContains(t, err, "MaxEntities is ")
	require.Eventually(t, func() bool { return logs.FilterMessage("ended").Len() == 1 }, patience, time.Millisecond)
	ended := logs.FilterMessage("ended").FilterField(zap.Stringer("code", wire.TooMuch)).All()
	require.Len(t, ended, 1)
	require.Equal(t, "client", ended[0].ContextMap()["by"])
	require.Equal(t, "server", ended[0].ContextMap()["fault"])
}

// A client's Bye is logged as the client's.
func TestLogSaysWhoEnded(t *testing.T) {
	t.Parallel()
	h, logs := newLoggedTestServer(t, func(*server.Config) {})
	polite, staying := h.dial(), h.dial()
	h.until(polite, "knows itself", func() bool { return polite.Controlled() != 0 })
	h.until(staying, "sees the first", func() bool { return staying.Resolve(polite.Controlled()) == wire.Live })
	require.NoError(t, polite.Close())
	h.until(staying, "the first is gone", func() bool { return staying.Resolve(polite.Controlled()) == wire.Stale })
	h.stop()
	require.Equal(t, wire.Draining, wire.CodeOf(h.ends(staying)))
	h.ended <- <-h.ended // the log is complete
	by := map[string]string{}
	for _, entry := range logs.FilterMessage("ended").All() {
		if fields := entry.ContextMap(); fields["connection"] != nil {
			by[fields["code"].(string)] = fields["by"].(string)
		}
	}
	require.Equal(t, map[string]string{"ok": "client", "draining": "server"}, by)
}

// A session's end is logged with its user, even if the session was away and its connection had
// ended before.
func TestLogSaysWhoLeft(t *testing.T) {
	core, logs := observer.New(zapcore.InfoLevel)
	h := newTestServerWith(t, func(c *server.Config) {
		c.Log, c.Grace = zap.New(core), 100*time.Millisecond
		c.Admit = func(_ context.Context, token []byte) (server.Admission, error) {
			return server.Admission{User: string(token)}, nil
		}
	})
	conn, stream := h.raw()
	must.Get(stream.Write(wire.AppendMessage(nil, wire.Hello{
		Protocol: wire.Version, Tables: rowcodec.DefaultTables().Version(), Token: []byte("ada"), Name: "somebody",
	})))
	input := wire.Input{Stamp: 1}
	for heard := uint32(0); heard < 3; { // so that it may reconnect
		require.NoError(t, conn.SendDatagram(input.Append(nil)))
		d := must.Get(conn.ReceiveDatagram(h.ctx))
		header := must.Get(wire.ParseStateHeader(d, new(bitio.Reader)))
		heard += header.Echo
	}
	require.NoError(t, conn.CloseWithError(quic.ApplicationErrorCode(wire.Timeout), ""))
	require.Eventually(t, func() bool { return logs.FilterMessage("left").Len() == 1 }, patience, 10*time.Millisecond)
	entity := logs.FilterMessage("joined").All()[0].ContextMap()["entity"]
	require.NotEqual(t, bulk.Handle(0).String(), entity)
	for text, more := range map[string]map[string]any{
		"joined": {"connection": uint64(1)}, "away": {}, "left": {"code": "timeout", "why": "did not reconnect"},
	} {
		want := map[string]any{"session": uint64(1), "name": "somebody", "user": "ada", "entity": entity, "connection": uint64(0), "network": "127.0.0.1/32", "epoch": "000000000000004d"}
		maps.Copy(want, more)
		lines := logs.FilterMessage(text).All()
		require.Len(t, lines, 1, text)
		require.Equal(t, want, lines[0].ContextMap())
	}
}

// If the server violates the protocol and the client leaves, the log names the server as at
// fault.
func TestLogNamesServerViolations(t *testing.T) {
	h, logs := newLoggedTestServer(t, func(*server.Config) {})
	hello := wire.AppendMessage(nil, wire.Hello{
		Protocol: wire.Version, Tables: rowcodec.DefaultTables().Version(),
	})
	_, stream := h.raw()
	must.Get(stream.Write(slices.Concat(hello, wire.AppendMessage(nil, wire.Bye{Code: wire.BadMessage, Text: "a row of nobody"}))))
	_, _ = io.ReadAll(stream)
	require.Eventually(t, func() bool { return logs.FilterMessage("ended").Len() == 1 }, patience, time.Millisecond)

	conn, stream := h.raw() // a client whose close overtakes its Bye
	must.Get(stream.Write(hello))
	must.Get(stream.Read(make([]byte, 1)))
	require.NoError(t, conn.CloseWithError(quic.ApplicationErrorCode(wire.BadMessage), ""))
	staying := h.dial()
	h.until(staying, "the server has heard both", func() bool { return logs.FilterMessage("ended").Len() == 2 })
	for i, why := range []any{"a row of nobody", nil} {
		fields := logs.FilterMessage("ended").All()[i].ContextMap()
		require.Equal(t, "client", fields["by"])
		require.Equal(t, wire.BadMessage.String(), fields["code"])
		require.Equal(t, "server", fields["fault"])
		require.Equal(t, why, fields["why"])
	}
}

// The reason of a refusal reaches the client and the log.
func TestLogSaysWhy(t *testing.T) {
	core, logs := observer.New(zapcore.InfoLevel)
	h := newTestServerWith(t, func(c *server.Config) {
		c.Log = zap.New(core)
		c.Admit = func(context.Context, []byte) (server.Admission, error) {
			return server.Admission{}, errors.New("of another shard")
		}
	})
	require.ErrorContains(t, must.Fail(client.Dial(h.ctx, h.config())), "of another shard")
	h.stop()
	h.ended <- <-h.ended // the log is complete
	var whys []any
	for _, entry := range logs.FilterMessage("ended").All() {
		if fields := entry.ContextMap(); fields["connection"] != nil {
			whys = append(whys, fields["why"])
		}
	}
	require.Equal(t, []any{"of another shard"}, whys)
}

// A refused client reads the refusal on the stream and may close before the server. The log
// still names the server.
func TestLogSaysWhoRefused(t *testing.T) {
	h, logs := newLoggedTestServer(t, func(*server.Config) {})
	conn, stream := h.raw()
	must.Get(stream.Write(wire.AppendMessage(nil, wire.Hello{Protocol: wire.Version + 1})))
	_, err := io.ReadAll(stream)
	if err != nil { // the client read too late: the server closed first
		var app *quic.ApplicationError
		require.ErrorAs(t, err, &app)
		require.Equal(t, wire.ProtocolVersion, wire.Code(app.ErrorCode))
	}
	require.NoError(t, conn.CloseWithError(quic.ApplicationErrorCode(wire.OK), ""))
	h.stop()
	h.ended <- <-h.ended // the log is complete
	entries := logs.FilterMessage("ended").All()
	require.NotEmpty(t, entries)
	fields := entries[0].ContextMap()
	require.Equal(t, "server", fields["by"])
	require.Equal(t, wire.ProtocolVersion.String(), fields["code"])
}

// An attacker cannot fill the log, whether it sends garbage on the stream or in datagrams.
func TestGarbageIsLoggedOnce(t *testing.T) {
	h, logs := newLoggedTestServer(t, func(*server.Config) {})
	conn, stream := h.raw()
	for range 20 { // until the server closes the connection
		_, _ = stream.Write([]byte{2, 99, 1})
		_ = conn.SendDatagram([]byte("garbage"))
	}
	select { // with the code of the one read first
	case <-conn.Context().Done():
	case <-h.ctx.Done():
		require.Fail(t, "the connection stays open")
	}
	h.stop()
	h.ended <- <-h.ended // the log is complete
	require.Equal(t, 1, logs.FilterMessage("client broke the protocol").Len())
}
