package server_test

import (
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"
	"github.com/quic-go/quic-go/quicvarint"
	"github.com/quic-go/webtransport-go"
	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/client"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/stage"
	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/server"
)

func newWebTestServer(t testing.TB) *testServer {
	return newTestServerWith(t, func(c *server.Config) { c.Web = &server.WebConfig{} })
}

// A WebTransport session and a raw one see each other. Commands are answered, a broken
// connection resumes with the same handles, and the server says goodbye.
func TestWebVisit(t *testing.T) {
	t.Parallel()
	h, logs := newLoggedTestServer(t, func(c *server.Config) { c.Web = &server.WebConfig{} })
	raw, network := h.dial(), h.webNetwork()
	c := network.dial(patience)
	h.visitBeside(raw, c)
	h.until(c, "the report, up to a second old, counts both", func() bool {
		h.stay(raw)
		return h.server.Report().Active == 2
	})
	require.Equal(t, 1, h.server.Report().Web)
	_, metrics := h.operate(http.MethodGet, "/metrics")
	require.Contains(t, metrics, `worldd_clients{transport="quic"} 1`)
	require.Contains(t, metrics, `worldd_clients{transport="web"} 1`)
	var sessions []struct{ Transport string }
	_, text := h.operate(http.MethodGet, "/sessions")
	require.NoError(t, json.Unmarshal([]byte(text), &sessions))
	require.Equal(t, []struct{ Transport string }{{"quic"}, {"web"}}, sessions)

	require.NoError(t, network.conn.conn.CloseWithError(quic.ApplicationErrorCode(http3.ErrCodeInternalError), "the browser failed"))
	require.Eventually(t, func() bool { return len(endsOf(logs, "web")) == 1 }, patience, time.Millisecond, "before c replaces it")
	h.resumeBeside(raw, c)
	require.NoError(t, c.Close())
	h.drainBoth(raw, h.webNetwork().dial(-1))
	require.Equal(t, map[string]string{"transport": "", "client": "ok", "server": "draining"}, endsOf(logs, "web"))
}

// visitBeside plays a client c that joins beside a raw one: both see each other, and commands are answered.
func (h *testServer) visitBeside(raw, c *client.Client) {
	h.until(c, "sees all crates, the other and itself", func() bool { return c.Replica().Len() == 7 })
	me := c.Controlled()
	h.until(raw, "sees the other client", func() bool { return raw.Resolve(me) == wire.Live })

	ok := must.Get(c.DoRaw("poke", me, nil))
	forged := must.Get(c.DoRaw("poke", bulk.NewHandle(999, 7), nil))
	_, err := forged.Wait(h.ctx)
	require.Equal(h.t, wire.UnknownHandle, wire.CodeOf(err))
	require.NoError(h.t, must.Have(ok.Poll()).Err)
	h.until(c, "round trips are measured", func() bool { return c.Stats().RoundTrips > 3 })
}

// resumeBeside waits until c, whose connection is broken, plays on in its session.
func (h *testServer) resumeBeside(raw, c *client.Client) {
	session, me := c.Welcome().Session, c.Controlled()
	h.until(c, "resumes", func() bool {
		h.stay(raw)
		return c.State() == client.Joined && c.Welcome().Resumed == 1
	})
	require.Equal(h.t, session, c.Welcome().Session)
	require.Equal(h.t, wire.Live, c.Resolve(me))
	tick := c.Replica().Tick()
	h.until(c, "applies snapshots", func() bool { return c.Replica().Tick() > tick })
	h.stay(raw)
}

// drainBoth ends the server, whose log is complete then. It says goodbye to both clients.
func (h *testServer) drainBoth(raw, staying *client.Client) {
	h.stop()
	require.Equal(h.t, wire.Draining, wire.CodeOf(h.ends(staying)))
	require.Equal(h.t, wire.Draining, wire.CodeOf(h.ends(raw)))
	h.ended <- <-h.ended
}

// endsOf returns who ended the connections of a transport according to the log, and with which codes.
func endsOf(logs *observer.ObservedLogs, transport string) map[string]string {
	by := map[string]string{}
	for _, entry := range logs.FilterMessage("ended").FilterField(zap.String("transport", transport)).All() {
		by[entry.ContextMap()["by"].(string)], _ = entry.ContextMap()["code"].(string)
	}
	return by
}

// Bye, a session closed with code 0, and a connection closed without an error leave at once.
func TestWebLeave(t *testing.T) {
	for _, c := range []struct {
		name  string
		leave func(*quic.Conn, *webtransport.Session, *webtransport.Stream) error
	}{
		{"bye", func(_ *quic.Conn, _ *webtransport.Session, stream *webtransport.Stream) error {
			_, err := stream.Write(wire.AppendMessage(nil, wire.Bye{}))
			return err
		}},
		{"close", func(_ *quic.Conn, s *webtransport.Session, _ *webtransport.Stream) error {
			return s.CloseWithError(0, "")
		}},
		{"close of the connection", func(c *quic.Conn, _ *webtransport.Session, _ *webtransport.Stream) error {
			return c.CloseWithError(quic.ApplicationErrorCode(http3.ErrCodeNoError), "")
		}},
		{"reset before the close", func(_ *quic.Conn, s *webtransport.Session, stream *webtransport.Stream) error {
			stream.CancelWrite(1)
			return s.CloseWithError(0, "")
		}},
		{"end of the stream", func(_ *quic.Conn, _ *webtransport.Session, stream *webtransport.Stream) error { return stream.Close() }},
	} {
		t.Run(c.name, func(t *testing.T) {
			h, logs := newLoggedTestServer(t, func(c *server.Config) { c.Web = &server.WebConfig{} })
			conn, session, _, err := h.webSession(nil)
			require.NoError(t, err)
			stream := h.join(session)
			require.NoError(t, c.leave(conn, session, stream))
			require.Eventually(t, func() bool { return logs.FilterMessage("left").Len() == 1 }, patience, time.Millisecond)
			require.Zero(t, logs.FilterMessage("away").Len())
			<-conn.Context().Done()
			h.stop()
			h.ended <- <-h.ended // the log is complete
			require.Equal(t, "client", logs.FilterMessage("ended").FilterField(zap.String("transport", "web")).All()[0].ContextMap()["by"])
		})
	}
}

// A client that ends its request without a capsule leaves at once: it has closed the session with
// code 0. A connection that is lost has not left, nor a page that said that it may return.
func TestWebLeaveWithoutCapsule(t *testing.T) {
	for _, c := range []struct {
		name  string
		leave func(h3Session) error
		want  string
		query string
	}{
		{"end of the request", func(s h3Session) error { return s.request.Close() }, "left", ""},
		{"end of a page that returns", func(s h3Session) error { return s.request.Close() }, "away", "?returns=1"},
		{"a page that returns leaves", func(s h3Session) error {
			_, err := s.request.Write(capsule(0x2843, "\x00\x00\x00\x00"))
			return err
		}, "left", "?returns=1"},
		{"reset of the request", func(s h3Session) error {
			s.request.CancelWrite(quic.StreamErrorCode(http3.ErrCodeRequestCanceled))
			return nil
		}, "left", ""},
		{"broken capsule", func(s h3Session) error {
			_, err := s.request.Write(capsule(0x2843, "\x00")) // WT_CLOSE_SESSION without a code
			return err
		}, "left", ""},
		{"error of the connection", func(s h3Session) error {
			return s.conn.CloseWithError(quic.ApplicationErrorCode(http3.ErrCodeInternalError), "")
		}, "away", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			h, logs := newLoggedTestServer(t, func(c *server.Config) { c.Web = &server.WebConfig{} })
			s := h.h3SessionAt(webURL(h.server) + c.query)
			h.hello(s.stream(h, uint64(s.request.StreamID())))
			must.Get(s.request.ReceiveDatagram(h.ctx))
			require.NoError(t, c.leave(s))
			require.Eventually(t, func() bool {
				return logs.FilterMessage("left").Len()+logs.FilterMessage("away").Len() == 1
			}, patience, time.Millisecond)
			require.Equal(t, 1, logs.FilterMessage(c.want).Len())
			<-s.conn.Context().Done()
		})
	}
}

// join begins a session and returns its stream after the first snapshot.
func (h *testServer) join(session *webtransport.Session) *webtransport.Stream {
	stream := must.Get(session.OpenStreamSync(h.ctx))
	h.hello(stream)
	must.Get(session.ReceiveDatagram(h.ctx))
	return stream
}

func (h *testServer) hello(stream io.Writer) {
	must.Get(stream.Write(wire.AppendMessage(nil, stage.Hello(nil))))
}

// A page of another site is refused. The refusal is logged with its code, and counted. Programs
// send no origin.
func TestWebOrigin(t *testing.T) {
	core, logs := observer.New(zapcore.InfoLevel)
	h := newTestServerWith(t, func(c *server.Config) {
		c.Web, c.Log = &server.WebConfig{Origins: []string{"https://game.example"}}, zap.New(core)
	})
	for origin, allowed := range map[string]bool{"https://game.example": true, "": true, "https://evil.example": false, "http://localhost": false, "null": false} {
		headers := http.Header{}
		if origin != "" {
			headers.Set("Origin", origin)
		}
		_, session, response, err := h.webSession(headers)
		if allowed {
			require.NoError(t, err, origin)
			h.join(session)
			continue
		}
		require.Error(t, err, origin)
		require.Equal(t, http.StatusForbidden, response.StatusCode)
		refused := logs.FilterMessageSnippet("origin is not allowed").FilterField(zap.String("origin", origin)).All()
		require.Len(t, refused, 1)
		require.Equal(t, "unauthorized", refused[0].ContextMap()["code"])
	}
	require.EqualValues(t, 3, h.server.Report().Traffic.WebOrigins)
	_, metrics := h.operate(http.MethodGet, "/metrics")
	require.Contains(t, metrics, `worldd_web_refused_total{reason="origin"} 3`)
}

// Requests that are not for a session are refused and counted. A connection with too many of
// them is closed.
func TestWebForeignRequests(t *testing.T) {
	h := newWebTestServer(t)
	stays := h.bystander()
	conn := h.h3()
	c := h.webtransport(conn)
	ask := func(method, path string) int {
		request := must.Get(http.NewRequestWithContext(h.ctx, method, "https://"+h.server.Addr().String()+path, nil))
		response := must.Get(c.RoundTrip(request))
		require.NoError(t, response.Body.Close())
		return response.StatusCode
	}
	require.Equal(t, http.StatusNotFound, ask(http.MethodGet, "/"))
	require.Equal(t, http.StatusNotFound, ask(http.MethodPost, "/worldd/x"))
	require.Equal(t, http.StatusMethodNotAllowed, ask(http.MethodGet, server.WebPath))
	_, _, err := c.Dial(h.ctx, "https://"+h.server.Addr().String()+"/other", nil)
	require.Error(t, err)
	_, _, err = c.Dial(h.ctx, webURL(h.server), nil)
	require.Error(t, err)
	h.wantClosed(conn, wire.TooFast)
	require.EqualValues(t, 5, h.server.Report().Traffic.WebRequests)
	stays()
}

// One connection carries one session. A second attempt does not disturb the first session.
func TestWebSecondSession(t *testing.T) {
	h := newWebTestServer(t)
	conn := h.h3()
	c := h.webtransport(conn)
	_, first, err := c.Dial(h.ctx, webURL(h.server), nil)
	require.NoError(t, err)
	response, _, err := c.Dial(h.ctx, webURL(h.server), nil)
	require.Error(t, err)
	require.Equal(t, http.StatusConflict, response.StatusCode)
	h.join(first)
	require.EqualValues(t, 1, h.server.Report().Traffic.WebSessions)
}

// goodbye reads a stream from now on: the end of the connection discards what is unread. await returns the code of the Goodbye or
// Refused on it.
func (h *testServer) goodbye(stream io.Reader) (await func() wire.Code) {
	all := make(chan []byte, 1)
	go func() {
		text, _ := io.ReadAll(stream)
		all <- text
	}()
	return func() wire.Code {
		var frames wire.FrameReader
		frames.Feed(<-all)
		for {
			kind, body, ok, err := frames.Next()
			require.NoError(h.t, err)
			require.True(h.t, ok, "no goodbye")
			switch kind {
			case wire.TypeGoodbye:
				m := must.Get(wire.Parse[wire.Goodbye](body))
				return m.Code
			case wire.TypeRefused:
				return must.Get(wire.Parse[wire.Refused](body)).Code
			}
		}
	}
}

// Further streams end their session with bad-message, over both transports.
func TestWebSurplusStreams(t *testing.T) {
	t.Parallel()
	h := newWebTestServer(t)
	stays := h.bystander()
	_, session, _, err := h.webSession(nil)
	require.NoError(t, err)
	goodbye := h.goodbye(h.join(session))
	surplus := must.Get(session.OpenUniStream())
	must.Get(surplus.Write([]byte("surplus")))
	require.Equal(t, wire.BadMessage, goodbye())

	for _, open := range []func(*quic.Conn) (io.Writer, error){
		func(c *quic.Conn) (io.Writer, error) { return c.OpenUniStream() },
		func(c *quic.Conn) (io.Writer, error) { return c.OpenStream() },
	} {
		conn, stream := h.raw()
		h.hello(stream)
		must.Get(conn.ReceiveDatagram(h.ctx))
		goodbye := h.goodbye(stream)
		surplus := must.Get(open(conn))
		must.Get(surplus.Write([]byte("surplus")))
		require.Equal(t, wire.BadMessage, goodbye())
		h.wantClosed(conn, wire.BadMessage)
	}
	stays()
}

// A broken datagram ends its session: with a protocol code if it belongs to the session,
// otherwise with an HTTP/3 code. Datagrams of other requests are dropped.
func TestWebMalformedDatagrams(t *testing.T) {
	h := newWebTestServer(t)
	stays := h.bystander()

	conn, session, _, err := h.webSession(nil)
	require.NoError(t, err)
	goodbye := h.goodbye(h.join(session))
	require.NoError(t, conn.SendDatagram(append(quicvarint.Append(nil, 1000), "for nobody"...)))
	require.NoError(t, session.SendDatagram([]byte("garbage")))
	require.Equal(t, wire.BadMessage, goodbye())

	for _, broken := range [][]byte{{}, {0xc0}, quicvarint.Append(nil, 1<<61)} {
		conn, session, _, err := h.webSession(nil)
		require.NoError(t, err)
		h.join(session)
		require.NoError(t, conn.SendDatagram(broken))
		h.wantClosed(conn, wire.Code(http3.ErrCodeDatagramError))
	}
	stays()
}

// h3Session is a WebTransport session made by hand.
type h3Session struct {
	conn    *quic.Conn
	request *http3.RequestStream // carries capsules
}

func (h *testServer) h3Session() h3Session { return h.h3SessionAt(webURL(h.server)) }

func (h *testServer) h3SessionAt(url string) h3Session {
	const draft = 0x2c7cf000 // SETTINGS_WT_ENABLED
	conn := h.h3()
	c := (&http3.Transport{EnableDatagrams: true, AdditionalSettings: map[uint64]uint64{draft: 1}}).NewClientConn(conn)
	request := must.Get(c.OpenRequestStream(h.ctx))
	connect := must.Get(http.NewRequestWithContext(h.ctx, http.MethodConnect, url, nil))
	connect.Proto = "webtransport"
	require.NoError(h.t, request.SendRequestHeader(connect))
	response := must.Get(request.ReadResponse())
	require.Equal(h.t, http.StatusOK, response.StatusCode)
	return h3Session{conn, request}
}

// stream opens a stream of the session with the given ID.
func (s h3Session) stream(h *testServer, session uint64) *quic.Stream {
	stream := must.Get(s.conn.OpenStreamSync(h.ctx))
	must.Get(stream.Write(quicvarint.Append(quicvarint.Append(nil, 0x41), session)))
	return stream
}

func capsule(kind uint64, value string) []byte {
	return append(quicvarint.Append(quicvarint.Append(nil, kind), uint64(len(value))), value...)
}

// Unknown capsules are ignored, and broken ones end the session. Bytes without a frame and
// streams of impossible sessions end it too.
func TestWebCapsules(t *testing.T) {
	h := newWebTestServer(t)
	stays := h.bystander()
	s := h.h3Session()
	must.Get(s.request.Write(capsule(0x1234567, "unknown")))
	stream := s.stream(h, uint64(s.request.StreamID()))
	h.hello(stream)
	_, err := s.request.ReceiveDatagram(h.ctx)
	require.NoError(t, err, "the session lives")
	_, err = s.request.Write(capsule(0x2843, "\x00")) // WT_CLOSE_SESSION without a code
	require.NoError(t, err)
	h.wantClosed(s.conn, wire.OK)

	s = h.h3Session()
	h.hello(s.stream(h, uint64(s.request.StreamID())))
	must.Get(s.request.ReceiveDatagram(h.ctx))
	_, err = s.request.Write(capsule(0x190b4d3f, "\xff")) // WT_MAX_STREAMS, cut
	require.NoError(t, err)
	h.wantClosed(s.conn, wire.OK)

	s = h.h3Session()
	s.stream(h, 3) // no request has this ID
	h.wantClosed(s.conn, wire.Code(http3.ErrCodeIDError))
	stays()
}

// A flood on an HTTP/3 stream, which the protocol does not see, ends the session of a client
// that sends nothing else.
func TestWebFlood(t *testing.T) {
	h := newWebTestServer(t)
	stays := h.bystander()
	s := h.h3Session()
	stream := s.stream(h, uint64(s.request.StreamID()))
	h.hello(stream)
	must.Get(s.request.ReceiveDatagram(h.ctx))
	goodbye := h.goodbye(stream)
	go func() {
		unknown := capsule(0x1234567, strings.Repeat("x", 16<<10))
		for err := error(nil); err == nil; {
			_, err = s.request.Write(unknown)
		}
	}()
	require.Equal(t, wire.TooFast, goodbye())
	h.wantClosed(s.conn, wire.TooFast)
	stays()
}

// The limit of sessions per address counts both transports.
func TestWebSessionsOfAnAddress(t *testing.T) {
	const allowed, tries = 3, 12 // few: sessions that send nothing end after 10 s
	h := newTestServerWith(t, func(c *server.Config) {
		c.Web, c.MaxSessionsPerAddress = &server.WebConfig{}, allowed
	})
	stays := h.bystander()
	hashes := must.Get(h.server.WebCertificates())
	opened := 1
	for range tries {
		conn, err := h.dialH3(hashes)
		if err != nil {
			continue
		}
		_, session, err := h.webtransport(conn).Dial(h.ctx, webURL(h.server), nil)
		if err != nil {
			continue
		}
		h.join(session)
		opened++
	}
	require.Equal(t, allowed, opened)
	require.GreaterOrEqual(t, h.server.Report().Traffic.HandshakesAddress, uint64(tries+1-allowed))
	stays()
}

// A connection without a session, or a session without a stream, is closed in time.
func TestWebWithoutSession(t *testing.T) {
	t.Parallel()
	h := newWebTestServer(t)
	silent := h.h3()
	without, _, _, err := h.webSession(nil)
	require.NoError(t, err)
	h.wantClosed(silent, wire.Timeout)
	h.wantClosed(without, wire.Timeout)
	require.EqualValues(t, 2, h.server.Report().Traffic.HandshakesFailed)
}

// A server that drains closes connections that have not begun a session.
func TestWebDrains(t *testing.T) {
	h := newWebTestServer(t)
	silent := h.h3()
	_, _, err := h.webtransport(silent).Dial(h.ctx, webURL(h.server)+"/other", nil)
	require.Error(t, err) // the server has accepted the connection, and answers
	h.stop()
	h.wantClosed(silent, wire.Draining)
}

// Browsers receive certificates that they accept by hash, raw clients the server's own. With
// ByName both receive the operator's.
func TestWebCertificate(t *testing.T) {
	kept := must.Get(server.KeptCertificate(filepath.Join(t.TempDir(), "identity.pem")))
	shown := func(h *testServer, protocols ...string) string {
		conn := must.Get(quic.DialAddr(h.ctx, h.server.Addr().String(), &tls.Config{InsecureSkipVerify: true, NextProtos: protocols}, &quic.Config{EnableDatagrams: true}))
		t.Cleanup(func() { _ = conn.CloseWithError(0, "") })
		sum := sha256.Sum256(conn.ConnectionState().TLS.PeerCertificates[0].Raw)
		return hex.EncodeToString(sum[:])
	}
	h := newTestServerWith(t, func(c *server.Config) { c.Web, c.Certificate = &server.WebConfig{}, kept })
	hashes := must.Get(h.server.WebCertificates())
	require.Len(t, hashes, 2)
	require.NotEqual(t, hashes[0], hashes[1])
	require.Equal(t, hashes[0], shown(h, "h3"))
	require.Equal(t, h.server.Fingerprint(), shown(h, wire.ALPN))
	require.Equal(t, h.server.Fingerprint(), shown(h, "h3", wire.ALPN), "the protocol is preferred")
	code, body := h.operate(http.MethodGet, "/web")
	require.Equal(t, http.StatusOK, code)
	var info struct {
		Game    string
		Version string
		Port    int
		Path    string
		Hashes  []string `json:"certificate_hashes"`
		Allowed bool     `json:"origin_allowed"`
	}
	require.NoError(t, json.Unmarshal([]byte(body), &info))
	require.Equal(t, "worldd", info.Game)
	require.Equal(t, h.server.Addr().Port, info.Port)
	require.Equal(t, "/worldd", info.Path)
	require.Equal(t, hashes, info.Hashes)
	require.True(t, info.Allowed, "loopback")
	h = newTestServerWith(t, func(c *server.Config) {
		c.Web, c.GameName = &server.WebConfig{Origins: []string{"https://game.example"}}, "tag"
		c.Versions = server.Versions{Game: "1.3", MinClient: "1.2"}
	})
	_, body = h.operate(http.MethodGet, "/web")
	require.NoError(t, json.Unmarshal([]byte(body), &info))
	require.Equal(t, "tag", info.Game)
	require.Equal(t, "1.3", info.Version, "the live page joins whatever MinClient is")
	require.False(t, info.Allowed)

	h = newTestServerWith(t, func(c *server.Config) {
		c.Web, c.Certificate = &server.WebConfig{ByName: true}, kept
	})
	require.Equal(t, h.server.Fingerprint(), shown(h, "h3"))
	hashes = must.Get(h.server.WebCertificates())
	require.Empty(t, hashes)
	_, err := server.Listen(server.Config{Listen: "127.0.0.1:0", Web: &server.WebConfig{ByName: true, Origins: []string{"*"}}})
	require.ErrorContains(t, err, "Web.ByName needs a Certificate")
	require.ErrorContains(t, err, `web origin "*"`)
}

// Pages of other origins read what they need to connect if they may connect, and nothing else of the port.
func TestPagesReadWhereToConnect(t *testing.T) {
	h := newTestServerWith(t, func(c *server.Config) { c.Web = &server.WebConfig{Origins: []string{"https://game.example"}} })
	for _, c := range []struct {
		method, path, origin string
		code                 int
		allowed              string
	}{
		{http.MethodGet, "/web", "https://game.example", http.StatusOK, "https://game.example"},
		{http.MethodGet, "/web", "", http.StatusOK, ""},
		{http.MethodGet, "/web", "https://else.example", http.StatusForbidden, ""},
		{http.MethodPost, "/web", "https://game.example", http.StatusForbidden, ""},
		{http.MethodGet, "/ticks", "https://game.example", http.StatusForbidden, ""},
	} {
		request := must.Get(http.NewRequestWithContext(h.ctx, c.method, "http://"+h.server.AdminAddr().String()+c.path, nil))
		if c.origin != "" {
			request.Header.Set("Origin", c.origin)
		}
		response := must.Get(http.DefaultClient.Do(request))
		require.NoError(t, response.Body.Close())
		require.Equal(t, c.code, response.StatusCode, c)
		require.Equal(t, c.allowed, response.Header.Get("Access-Control-Allow-Origin"), c)
	}
}

// Without Web, HTTP/3 is refused by the handshake, and there is nothing to publish.
func TestWebIsOff(t *testing.T) {
	h := newTestServer(t)
	require.ErrorContains(t, must.Fail(h.dialH3(nil)), "no application protocol")
	code, _ := h.operate(http.MethodGet, "/web")
	require.Equal(t, http.StatusNotFound, code)
	_, metrics := h.operate(http.MethodGet, "/metrics")
	require.NotContains(t, metrics, `transport="web"`)
	require.NotContains(t, metrics, "worldd_web_refused_total")
}
