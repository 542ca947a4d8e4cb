package link

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/quic-go/quic-go"
	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/worldd/worldd/internal/must"
)

// directory has the records of the nodes of a test.
type directory struct {
	mu    sync.Mutex
	nodes map[string]Node
}

func (d *directory) find(name string) (Node, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	n, ok := d.nodes[name]
	return n, ok
}

func (d *directory) holder(fingerprint string) (string, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for name, n := range d.nodes {
		if n.Fingerprint == fingerprint {
			return name, true
		}
	}
	return "", false
}

func (d *directory) set(name string, n *Node) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.nodes, name)
	if n != nil {
		d.nodes[name] = *n
	}
}

// process is a node's process: a link and a port.
type process struct {
	*Link
	addr string
	logs *observer.ObservedLogs
	end  func()
}

const (
	echo  Kind = 200
	large Kind = 201
	fails Kind = 202
)

// serving serves a port as package quicserve does: one stream a connection.
func (d *directory) serving(t *testing.T, name, addr string) *process {
	core, logs := observer.New(zap.InfoLevel)
	l := must.Get(New(Config{FindNode: d.find, FindHolder: d.holder, Log: zap.New(core)}))
	l.Handle(echo, func(_ context.Context, node string, body io.Reader, answer io.Writer) error {
		b, err := io.ReadAll(body)
		if err == nil {
			_, err = fmt.Fprintf(answer, "%s: %s", node, b)
		}
		return err
	})
	l.HandleStream(large, Rules{MaxBody: 8 << 20, Within: 30 * time.Second}, func(_ context.Context, _ string, body io.Reader, answer io.Writer) error {
		_, err := io.Copy(answer, body)
		return err
	})
	l.Handle(fails, func(_ context.Context, _ string, body io.Reader, answer io.Writer) error {
		b := must.Get(io.ReadAll(body))
		if string(b) == "midway" {
			_ = must.Get(answer.Write([]byte("a part")))
			return errors.New("the disk is full")
		}
		return &RefusedError{Code: 7, Text: string(b)}
	})
	udp := must.Get(net.ListenUDP("udp", must.Get(net.ResolveUDPAddr("udp", addr))))
	transport := &quic.Transport{Conn: udp}
	port := must.Get(transport.Listen(l.TLS(), &quic.Config{MaxIncomingStreams: 1, MaxIncomingUniStreams: -1}))
	ctx, stop := context.WithCancel(context.Background())
	var work sync.WaitGroup
	work.Go(func() {
		for {
			conn, err := port.Accept(ctx)
			if err != nil {
				return
			}
			work.Go(func() { l.Serve(ctx, conn) })
		}
	})
	p := &process{Link: l, addr: udp.LocalAddr().String(), logs: logs}
	p.end = sync.OnceFunc(func() {
		stop()
		_ = transport.Close()
		_ = udp.Close()
		_ = l.Close()
		work.Wait()
	})
	t.Cleanup(p.end)
	d.set(name, &Node{Addrs: []string{p.addr}, Fingerprint: l.Fingerprint()})
	return p
}

func twoNodes(t *testing.T) (d *directory, a, b *process) {
	d = &directory{nodes: map[string]Node{}}
	return d, d.serving(t, "a", "127.0.0.1:0"), d.serving(t, "b", "127.0.0.1:0")
}

func TestRequestsAndAnswers(t *testing.T) {
	_, a, b := twoNodes(t)
	ctx := t.Context()
	var all sync.WaitGroup
	for i := range 40 { // more than connections
		all.Go(func() {
			got, err := a.Call(ctx, "b", echo, fmt.Append(nil, i))
			require.NoError(t, err)
			require.Equal(t, fmt.Sprintf("a: %d", i), string(got))
		})
	}
	all.Wait()
	require.LessOrEqual(t, len(a.pool("b", "", 0).idle), smallConnections)
	got, err := b.Call(ctx, "a", echo, nil)
	require.NoError(t, err)
	require.Equal(t, "b: ", string(got))

	image := bytes.Repeat([]byte("rows"), 1<<20)
	var back bytes.Buffer
	require.NoError(t, a.Stream(ctx, "b", large, bytes.NewReader(image), &back, 8<<20))
	require.True(t, bytes.Equal(image, back.Bytes()))
	require.Equal(t, Counters{Sent: 41}, a.onlySent())
	require.EqualValues(t, 41, b.Counters().Served)
}

// onlySent returns the counters of own requests.
func (p *process) onlySent() Counters {
	c := p.Counters()
	c.Served, c.Refused = 0, 0
	return c
}

func TestRefusals(t *testing.T) {
	d, a, b := twoNodes(t)
	ctx := t.Context()
	_, err := a.Call(ctx, "b", fails, []byte("no place"))
	require.ErrorContains(t, err, "no place")
	refused, ok := errors.AsType[*RefusedError](err)
	require.True(t, ok)
	require.Equal(t, &RefusedError{7, "no place"}, refused)
	_, err = a.Call(ctx, "b", 250, nil)
	require.ErrorIs(t, err, ErrOlder)
	require.Equal(t, Counters{Sent: 2}, a.onlySent(), "these are answers")

	_, err = a.Call(ctx, "b", fails, []byte("midway"))
	require.Error(t, err, "a part of an answer is none")
	require.Len(t, b.logs.FilterMessageSnippet("has failed").All(), 1)
	_, err = a.Call(ctx, "c", echo, nil)
	require.ErrorIs(t, err, ErrNoNode)
	_, err = a.Call(ctx, "b", echo, make([]byte, MaxBody+1))
	require.ErrorContains(t, err, "at most")
	d.set("b", &Node{Addrs: []string{b.addr}})
	_, err = a.Call(ctx, "b", echo, nil)
	require.ErrorIs(t, err, ErrOlder, "a record without a fingerprint")
}

// Both sides pin certificates, and a node whose record is dead is not served over its connections either.
func TestStrangers(t *testing.T) {
	d, a, b := twoNodes(t)
	ctx := t.Context()
	_, err := a.Call(ctx, "b", echo, nil)
	require.NoError(t, err)
	record, _ := d.find("a")
	d.set("a", nil)
	_, err = a.Call(ctx, "b", echo, nil)
	require.Error(t, err, "a is dead")
	_, err = a.Call(ctx, "b", echo, nil)
	require.Error(t, err, "no new connection either")
	d.set("a", &record)
	_, err = a.Call(ctx, "b", echo, nil)
	require.NoError(t, err)

	d.set("b", &Node{Addrs: []string{b.addr}, Fingerprint: strings.Repeat("0", 64)})
	_, err = a.Call(ctx, "b", echo, nil)
	require.ErrorContains(t, err, "another certificate")

	_, err = quic.DialAddr(ctx, b.addr, &tls.Config{NextProtos: []string{ALPN}, InsecureSkipVerify: true}, nil)
	if err == nil { // the client's handshake ends before the server's check
		require.EqualValues(t, 0, b.Counters().Nonsense)
	}
}

// A process that takes the place of another has another certificate: nothing is sent over the connections to the one before.
func TestSuccessor(t *testing.T) {
	d, a, b := twoNodes(t)
	_, err := a.Call(t.Context(), "b", echo, nil)
	require.NoError(t, err)
	b.end()
	c := d.serving(t, "b", b.addr)
	_, err = a.Call(t.Context(), "b", echo, nil)
	require.NoError(t, err)
	require.EqualValues(t, 1, c.Counters().Served)
}

// A node that does not answer costs a bounded time, and one that says nonsense loses its connection and is named.
func TestSilenceAndNonsense(t *testing.T) {
	d, a, b := twoNodes(t)
	silent := must.Get(net.ListenUDP("udp", must.Get(net.ResolveUDPAddr("udp", "127.0.0.1:0"))))
	defer silent.Close()
	d.set("s", &Node{Addrs: []string{silent.LocalAddr().String()}, Fingerprint: strings.Repeat("1", 64)})
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	_, err := a.Call(ctx, "s", echo, nil)
	require.ErrorIs(t, err, context.DeadlineExceeded)

	n, _ := d.find("b")
	conn := must.Get(a.dial(t.Context(), b.addr, n.Fingerprint))
	err = exchangeOver(t.Context(), &pooled{conn, n.Fingerprint}, echo, io.LimitReader(zeros{}, MaxBody+1), io.Discard, MaxBody)
	require.Error(t, err)
	<-conn.Context().Done()
	require.EqualValues(t, 1, b.Counters().Nonsense)
	named := b.logs.FilterMessageSnippet("broken the rules").All()
	require.Len(t, named, 1)
	require.Equal(t, "a", named[0].ContextMap()["node"])

	conn = must.Get(a.dial(t.Context(), b.addr, n.Fingerprint))
	s := must.Get(conn.OpenStreamSync(t.Context()))
	require.NoError(t, s.Close()) // without a kind
	<-conn.Context().Done()
	require.EqualValues(t, 2, b.Counters().Nonsense)
	_, err = a.Call(t.Context(), "b", echo, nil)
	require.NoError(t, err, "it may connect again")
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

func TestConnectionsOfANodeAreBounded(t *testing.T) {
	d, a, b := twoNodes(t)
	n, _ := d.find("b")
	var conns []*quic.Conn
	for range maxServed {
		conn := must.Get(a.dial(t.Context(), b.addr, n.Fingerprint))
		require.NoError(t, exchangeOver(t.Context(), &pooled{conn, n.Fingerprint}, echo, strings.NewReader("x"), io.Discard, MaxBody))
		conns = append(conns, conn)
	}
	more, err := a.dial(t.Context(), b.addr, n.Fingerprint)
	if err == nil { // the refusal comes later
		err = exchangeOver(t.Context(), &pooled{more, n.Fingerprint}, echo, strings.NewReader("x"), io.Discard, MaxBody)
	}
	require.Error(t, err)
	require.NoError(t, conns[0].CloseWithError(closeDone, ""))
}

// FuzzAnswer: no answer is more than its bound, and an error is one of the answers or nonsense.
func FuzzAnswer(f *testing.F) {
	f.Add([]byte{statusDone, 'a'})
	f.Add([]byte{statusUnknown})
	f.Add(appendRefusal([]byte{statusRefused}, &RefusedError{7, "no place"}))
	f.Add([]byte{statusRefused, 0})
	f.Add([]byte{9})
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		var w bytes.Buffer
		err := readAnswer(bytes.NewReader(b), &w, 16)
		require.LessOrEqual(t, w.Len(), 16)
		refused, ok := errors.AsType[*RefusedError](err)
		switch {
		case err == nil:
			require.Equal(t, b[1:], w.Bytes()[:w.Len():w.Len()])
		case ok:
			again, err := parseRefusal(appendRefusal(nil, refused))
			require.NoError(t, err)
			require.Equal(t, refused, again)
		case len(b) > 0:
			require.True(t, errors.Is(err, ErrOlder) || errors.Is(err, errNonsense), err)
		}
	})
}
