package botrun

import (
	"context"
	"crypto/tls"
	"errors"
	"math/rand/v2"
	"net"
	"time"

	"github.com/quic-go/quic-go"

	"github.com/worldd/worldd/replication/wire"
)

// Attacks counts the actions of the attackers in a Hostile run, and their effects.
type Attacks struct {
	Attackers int    `json:"attackers"`
	Sessions  uint64 `json:"sessions"` // completed handshakes
	HalfOpen  uint64 `json:"half_open"`
	Messages  uint64 `json:"messages"` // stream messages and datagrams sent
	// Closed counts connections closed by the server, by the code's name.
	Closed map[string]uint64 `json:"closed"`
	// Refused counts commands refused by the server, by the code's name.
	Refused map[string]uint64 `json:"refused"`
}

func (a *Attacks) add(o Attacks) {
	a.Attackers += o.Attackers
	a.Sessions += o.Sessions
	a.HalfOpen += o.HalfOpen
	a.Messages += o.Messages
	for code, n := range o.Closed {
		a.Closed[code] += n
	}
	for code, n := range o.Refused {
		a.Refused[code] += n
	}
}

// attacker is one hostile bot. It does not use the client library, which would enforce
// the protocol.
type attacker struct {
	config Config
	rng    *rand.Rand
	tls    *tls.Config
	done   Attacks
}

func newAttacker(number int, c Config) *attacker {
	return &attacker{
		config: c, rng: rand.New(rand.NewPCG(c.Seed, uint64(number))),
		// It sends no secrets, so it may trust any server.
		tls:  &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS13, NextProtos: []string{wire.ALPN}},
		done: Attacks{Attackers: 1, Closed: map[string]uint64{}, Refused: map[string]uint64{}},
	}
}

// repeatAttack repeats one kind of attack until ctx ends.
func (a *attacker) repeatAttack(ctx context.Context, kind int) Attacks {
	kinds := []func(context.Context){a.connectedAttack(1<<16, a.sendGarbage), a.connectedAttack(1<<16, a.sendFlood), a.connectedAttack(1<<10, a.readNothing), a.halfOpen, a.connectedAttack(1<<16, a.sendCommands)}
	for ctx.Err() == nil {
		kinds[kind%len(kinds)](ctx)
		pauseFor(ctx, attackPause)
	}
	return a.done
}

func pauseFor(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

// openSession connects with receive windows of the given size and sends a valid Hello.
func (a *attacker) openSession(ctx context.Context, window uint64) (*quic.Conn, *quic.Stream, error) {
	dialing, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	conn, err := quic.DialAddr(dialing, a.config.Addr, a.tls, &quic.Config{
		EnableDatagrams: true, KeepAlivePeriod: time.Second,
		InitialStreamReceiveWindow: window, MaxStreamReceiveWindow: window,
	})
	if err != nil {
		return nil, nil, err
	}
	a.done.Sessions++
	stream, err := conn.OpenStreamSync(dialing)
	if err == nil {
		var ticket []byte // attackers may have accounts
		if ticket, err = a.config.newTicket("attacker"); err == nil {
			_, err = stream.Write(wire.AppendMessage(nil, wire.Hello{
				Protocol: wire.Version, Tables: a.config.Tables.Version(), Token: ticket, Name: "attacker", Version: a.config.Player.Version,
			}))
		}
	}
	if err != nil {
		a.closeConnection(conn)
		return nil, nil, err
	}
	return conn, stream, nil
}

// connectedAttack returns an attack over a connection with receive windows of the given size.
func (a *attacker) connectedAttack(window uint64, attack func(context.Context, *quic.Conn, *quic.Stream)) func(context.Context) {
	return func(ctx context.Context) {
		if conn, stream, err := a.openSession(ctx, window); err == nil {
			defer a.closeConnection(conn)
			attack(ctx, conn, stream)
		}
	}
}

// closeConnection ends a connection and counts which side closed it, and why.
func (a *attacker) closeConnection(conn *quic.Conn) {
	if app, ok := errors.AsType[*quic.ApplicationError](context.Cause(conn.Context())); ok && app.Remote {
		a.done.Closed[wire.Code(min(app.ErrorCode, 1<<16-1)).String()]++
	}
	_ = conn.CloseWithError(0, "")
}

// sendGarbage sends random bytes on the stream and as datagrams until the server closes the
// connection.
func (a *attacker) sendGarbage(ctx context.Context, conn *quic.Conn, stream *quic.Stream) {
	for ctx.Err() == nil && conn.Context().Err() == nil {
		p := make([]byte, 1+a.rng.IntN(wire.MaxDatagram))
		for i := range p {
			p[i] = byte(a.rng.Uint32())
		}
		a.done.Messages++
		if a.rng.IntN(4) > 0 {
			_ = conn.SendDatagram(p) // on an error the connection is closed
		} else if _, err := stream.Write(p); err != nil {
			return
		}
		pauseFor(ctx, 10*time.Millisecond)
	}
}

// sendFlood sends inputs at a hundred times a client's rate, with forged acknowledgements, and
// commands about forged handles.
func (a *attacker) sendFlood(ctx context.Context, conn *quic.Conn, stream *quic.Stream) {
	_ = stream.SetReadDeadline(time.Now().Add(dialTimeout))
	if _, err := stream.Read(make([]byte, 1)); err != nil { // after the Welcome inputs are allowed
		return
	}
	for id := uint32(1); ctx.Err() == nil && conn.Context().Err() == nil; id++ {
		in := wire.Input{Stamp: id, Ack: wire.Ack{
			Seen: true, Newest: a.rng.Uint32(), Mask: a.rng.Uint64(), Structure: a.rng.Uint32(),
		}}
		_ = conn.SendDatagram(in.Append(nil))
		a.done.Messages++
		if id%64 == 0 {
			c := a.validCommand(id)
			c.Target = forgeHandle(a.rng, wire.MaxSlots)
			if _, err := stream.Write(wire.AppendMessage(nil, c)); err != nil {
				return
			}
			a.done.Messages++
		}
		pauseFor(ctx, 300*time.Microsecond)
	}
}

// readNothing keeps a connection alive without reading a byte.
func (a *attacker) readNothing(ctx context.Context, conn *quic.Conn, _ *quic.Stream) {
	for id := uint32(1); ctx.Err() == nil && conn.Context().Err() == nil; id++ {
		in := wire.Input{Stamp: id}
		_ = conn.SendDatagram(in.Append(nil))
		a.done.Messages++
		pauseFor(ctx, 50*time.Millisecond)
	}
}

// halfOpen starts a handshake and ignores the answer.
func (a *attacker) halfOpen(ctx context.Context) {
	addr, err := net.ResolveUDPAddr("udp", a.config.Addr)
	if err != nil {
		return
	}
	socket, err := openImpaired(Link{}, 0, a.config.began)
	if err != nil {
		return
	}
	defer socket.Close()
	transport := quic.Transport{Conn: mute{socket}}
	defer transport.Close()
	dialing, cancel := context.WithTimeout(ctx, 20*time.Millisecond)
	defer cancel()
	a.done.HalfOpen++
	if conn, err := transport.Dial(dialing, addr, a.tls, &quic.Config{}); err == nil {
		a.closeConnection(conn)
	}
}

// mute is a socket that receives nothing.
type mute struct{ *impaired }

// ReadFrom discards incoming packets.
func (m mute) ReadFrom(buf []byte) (int, net.Addr, error) {
	for {
		if _, _, err := m.impaired.ReadFrom(buf); err != nil {
			return 0, nil, err
		}
	}
}
