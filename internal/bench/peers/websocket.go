//go:build linux

package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"math/big"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/coder/websocket"
)

// encoder returns the message of a client's update.
type encoder func(g *game, v *viewer) ([]byte, error)

// update summarises a message that a client applied.
type update struct {
	tick        uint32
	rows, known int // entities that entered or changed; all that it knows
}

// view is a client's copy of what it sees.
type view interface {
	decode(message []byte) (update, error)
}

// listenGame listens for clients of a game. Its address is a URL.
func listenGame(l load, encrypted bool) (net.Listener, address, error) {
	listener, err := net.Listen("tcp", l.listen())
	if err != nil {
		return nil, address{}, err
	}
	where := listener.Addr().String()
	if !encrypted {
		return listener, address{Address: "ws://" + where}, nil
	}
	certificate, err := certificate()
	if err != nil {
		return nil, address{}, err
	}
	config := &tls.Config{MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{certificate}}
	return tls.NewListener(listener, config), address{Address: "wss://" + where}, nil
}

// certificate returns a new self-signed certificate.
func certificate() (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(24 * time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, err
}

// serveGame serves a game over WebSocket until ctx is done.
func serveGame(ctx context.Context, l net.Listener, encode encoder, clock *tickClock) error {
	g := newGame(updateHz)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	web := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn, err := websocket.Accept(w, r, nil)
		if err != nil {
			return
		}
		g.serve(ctx, conn)
	})}
	defer web.Close()
	go func() { _ = web.Serve(l) }()
	ticks := time.NewTicker(time.Second / updateHz)
	defer ticks.Stop()
	for {
		select {
		case <-ticks.C:
		case <-ctx.Done():
			return nil
		}
		clock.begin(g.tick + 1)
		if err := g.step(encode); err != nil {
			return err
		}
	}
}

// serve serves a client until its connection ends.
func (g *game) serve(ctx context.Context, conn *websocket.Conn) {
	defer conn.CloseNow()
	v := g.join()
	var writer sync.WaitGroup
	defer writer.Wait()
	defer g.leave(v)
	writer.Go(func() {
		for message := range v.out {
			if conn.Write(ctx, websocket.MessageBinary, message) != nil {
				_ = conn.CloseNow()
			}
		}
	})
	for {
		_, input, err := conn.Read(ctx)
		if err != nil || len(input) != inputBytes {
			return
		}
		v.input.Store(uint32(binary.LittleEndian.Uint16(input)))
	}
}

// playGame connects a client and answers updates until ctx is done.
func playGame(ctx context.Context, url string, v view, m *meter) error {
	dialer := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS13}}}
	conn, _, err := websocket.Dial(ctx, url, &websocket.DialOptions{HTTPClient: dialer})
	if err != nil {
		return err
	}
	defer conn.CloseNow()
	conn.SetReadLimit(1 << 20)
	m.joined()
	input := make([]byte, inputBytes)
	for all := (total{}); ; {
		_, message, err := conn.Read(ctx)
		if err != nil {
			return ignoreAfter(ctx, err)
		}
		u, err := v.decode(message)
		if err != nil {
			return err
		}
		all.updates++
		all.rows += uint64(u.rows)
		all.payload += uint64(len(message))
		m.update(u.tick, u.known, all)
		if err := conn.Write(ctx, websocket.MessageBinary, input); err != nil {
			return ignoreAfter(ctx, err)
		}
	}
}

// ignoreAfter returns err unless ctx is done, which ends connections.
func ignoreAfter(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}
