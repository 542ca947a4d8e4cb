package etcd_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/loopback"
	"github.com/worldd/worldd/server/cluster"
	"github.com/worldd/worldd/server/cluster/etcd"
)

const (
	goodHeader  = `"header":{"cluster_id":"7","revision":"5"}`
	goodStatus  = `{` + goodHeader + `,"version":"3.4.23"}`
	goodCreated = `{"result":{` + goodHeader + `,"created":true}}` + "\n"
)

// answer writes an answer, and keeps the connection until the client leaves it if it is to hang.
type answer struct {
	status int
	body   string
	hang   bool
}

func (a answer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	if a.status != 0 {
		w.Header().Set("Location", "/elsewhere")
		w.WriteHeader(a.status)
	}
	_, _ = io.WriteString(w, a.body)
	if a.hang {
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}
}

// endless writes bytes until the client has enough.
func endless(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	for r.Context().Err() == nil {
		if _, err := io.WriteString(w, strings.Repeat(" ", 1<<20)); err != nil {
			return
		}
	}
}

// drip writes a byte now and then, for ever.
func drip(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	for r.Context().Err() == nil {
		_, _ = io.WriteString(w, " ")
		_ = http.NewResponseController(w).Flush()
		time.Sleep(time.Millisecond)
	}
}

// reset ends the connection without an answer.
func reset(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	panic(http.ErrAbortHandler)
}

// engine is an endpoint whose status is good, and whose other answers are hostile.
func engine(t *testing.T, hostile http.Handler) string {
	mux := http.NewServeMux()
	mux.Handle("/v3/maintenance/status", answer{body: goodStatus})
	mux.Handle("/", hostile)
	return serve(t, mux)
}

func serve(t *testing.T, h http.Handler) string {
	server := httptest.NewUnstartedServer(h)
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.Start()
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	return server.URL
}

// Times that a store waits: brief for what is to fail, though it opens the store, on a busy machine too; patient for all else.
const brief, patient = 2 * time.Second, time.Minute

func open(t *testing.T, timeout, silence time.Duration, urls ...string) *etcd.Store {
	s, err := etcd.Open(t.Context(), etcd.Config{Endpoints: urls, CompactEvery: -1, Timeout: timeout, Silence: silence})
	require.NoError(t, err)
	t.Cleanup(s.Close)
	return s
}

func waitFor(kind etcd.Kind) time.Duration {
	if kind == etcd.Lost {
		return brief
	}
	return patient
}

func kindsOf(err error) (kinds []etcd.Kind) {
	switch e := err.(type) {
	case *etcd.Error:
		return []etcd.Kind{e.Kind}
	case interface{ Unwrap() error }:
		return kindsOf(e.Unwrap())
	case interface{ Unwrap() []error }:
		for _, one := range e.Unwrap() {
			kinds = append(kinds, kindsOf(one)...)
		}
	}
	return kinds
}

func base64Of(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }

func key(k string) string { return `"` + base64Of("worldd/"+k) + `"` }

// Whatever an endpoint answers, each method returns in time, and says whether something may have changed.
func TestWrongAnswers(t *testing.T) {
	refused := func(code int, message string) answer {
		return answer{status: 400, body: fmt.Sprintf(`{"error":%q,"message":%q,"code":%d}`, message, message, code)}
	}
	for name, c := range map[string]struct {
		hostile http.Handler
		kind    etcd.Kind
		decided bool // a swap has changed nothing for sure
	}{
		"nothing":              {answer{}, etcd.Malformed, false},
		"not JSON":             {answer{body: "<html>hello</html>"}, etcd.Malformed, false},
		"an empty object":      {answer{body: "{}"}, etcd.Malformed, false},
		"a list":               {answer{body: "[1]"}, etcd.Malformed, false},
		"half an answer":       {answer{body: `{"header":{"cluster_id":"7"`}, etcd.Malformed, false},
		"two answers":          {answer{body: `{` + goodHeader + `}{` + goodHeader + `}`}, etcd.Malformed, false},
		"no revision":          {answer{body: `{"header":{"cluster_id":"7"}}`}, etcd.Malformed, false},
		"a negative revision":  {answer{body: `{"header":{"cluster_id":"7","revision":"-5"}}`}, etcd.Malformed, false},
		"a number":             {answer{body: `{"header":{"cluster_id":7,"revision":5}}`}, etcd.Malformed, false},
		"deep JSON":            {answer{body: strings.Repeat("[", 100_000)}, etcd.Malformed, false},
		"another cluster":      {answer{body: `{"header":{"cluster_id":"8","revision":"5"},"succeeded":true}`}, etcd.OtherCluster, false},
		"200 with an error":    {answer{body: `{"error":"etcdserver: duplicate key","code":3}`}, etcd.Malformed, false},
		"a redirect":           {answer{status: 307, body: `{` + goodHeader + `}`}, etcd.Malformed, false},
		"500 without JSON":     {answer{status: 500, body: "oops"}, etcd.Malformed, false},
		"404":                  {answer{status: 404, body: "Not Found"}, etcd.NoGateway, false},
		"endless":              {http.HandlerFunc(endless), etcd.Malformed, false},
		"a drip":               {http.HandlerFunc(drip), etcd.Lost, false},
		"silence":              {answer{hang: true}, etcd.Lost, false},
		"no end":               {answer{body: `{` + goodHeader + `}`, hang: true}, etcd.Lost, false},
		"a reset":              {http.HandlerFunc(reset), etcd.Lost, false},
		"refused":              {refused(7, "etcdserver: permission denied"), etcd.Refused, true},
		"full":                 {refused(8, "etcdserver: mvcc: database space exceeded"), etcd.Refused, true},
		"no leader":            {refused(14, "etcdserver: no leader"), etcd.Leaderless, true},
		"timed out":            {refused(14, "etcdserver: request timed out"), etcd.Undecided, false},
		"leader changed":       {refused(14, "etcdserver: leader changed"), etcd.Undecided, false},
		"refused by something": {refused(8, "grpc: received message larger than max"), etcd.Undecided, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t, waitFor(c.kind), patient, engine(t, c.hostile))
			_, err := s.Swap(t.Context(), cluster.Swap{Key: "k", Value: []byte("v")})
			require.Equal(t, []etcd.Kind{c.kind}, kindsOf(err), err)
			require.Equal(t, !c.decided, errors.Is(err, cluster.ErrUnknown), err)
			_, _, err = cluster.ReadAll(t.Context(), s, "")
			require.Equal(t, []etcd.Kind{c.kind, c.kind}, kindsOf(err), err)
		})
	}
}

func TestWrongReads(t *testing.T) {
	var full []string
	for i := range 256 {
		full = append(full, fmt.Sprintf(`{"key":%s,"mod_revision":"5"}`, key(fmt.Sprintf("k/%03d", i))))
	}
	page := func(more string, kvs ...string) answer {
		return answer{body: `{` + goodHeader + `,"kvs":[` + strings.Join(kvs, ",") + `]` + more + `}`}
	}
	for name, a := range map[string]answer{
		"another prefix":     page("", `{"key":"eA==","mod_revision":"5"}`),
		"outside":            page("", `{"key":`+key("j")+`,"mod_revision":"5"}`),
		"the prefix alone":   page("", `{"key":`+key("")+`,"mod_revision":"5"}`),
		"twice":              page("", full[0], full[0]),
		"out of order":       page("", full[1], full[0]),
		"no revision":        page("", `{"key":`+key("k/")+`}`),
		"a revision to come": page("", `{"key":`+key("k/")+`,"mod_revision":"6"}`),
		"not base64":         page("", `{"key":"%%","mod_revision":"5"}`),
		"a large value":      page("", `{"key":`+key("k/")+`,"mod_revision":"5","value":"`+base64Of(strings.Repeat("v", cluster.MaxValue+1))+`"}`),
		"a long key":         page("", `{"key":`+key("k/"+strings.Repeat("k", cluster.MaxKey))+`,"mod_revision":"5"}`),
		"a short page":       page(`,"more":true`, full[0]),
		"an empty page":      page(`,"more":true`),
		"a long page":        page("", append(full, `{"key":`+key("k/x")+`,"mod_revision":"5"}`)...),
		"pages without end":  page(`,"more":true`, full...),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t, patient, patient, engine(t, a))
			_, _, err := cluster.ReadAll(t.Context(), s, "k/")
			require.Equal(t, []etcd.Kind{etcd.Malformed, etcd.Malformed}, kindsOf(err), err)
		})
	}
}

func TestWrongWatches(t *testing.T) {
	event := func(k string, revision int) string {
		return fmt.Sprintf(`{"kv":{"key":%s,"mod_revision":"%d"}}`, key(k), revision)
	}
	events := func(list ...string) string {
		return `{"result":{` + goodHeader + `,"events":[` + strings.Join(list, ",") + `]}}` + "\n"
	}
	const other = `{"result":{"header":{"cluster_id":"8","revision":"9"},"created":true}}` + "\n"
	for name, c := range map[string]struct {
		hostile http.Handler
		kind    etcd.Kind
		seen    int
	}{
		"not JSON":           {answer{body: goodCreated + "hello\n", hang: true}, etcd.Malformed, 0},
		"an empty line":      {answer{body: goodCreated + "\n", hang: true}, etcd.Malformed, 0},
		"no result":          {answer{body: "{}\n", hang: true}, etcd.Malformed, 0},
		"half a message":     {answer{body: goodCreated + `{"result":{`}, etcd.Malformed, 0},
		"another cluster":    {answer{body: other, hang: true}, etcd.OtherCluster, 0},
		"an end":             {answer{body: goodCreated + events(event("k", 6), event("l", 6))}, etcd.Lost, 2},
		"an event again":     {answer{body: goodCreated + events(event("k", 6)) + events(event("k", 6)), hang: true}, etcd.Malformed, 1},
		"an event too early": {answer{body: goodCreated + events(event("k", 5)), hang: true}, etcd.Malformed, 0},
		"out of order":       {answer{body: goodCreated + events(event("k", 7), event("k", 6)), hang: true}, etcd.Malformed, 0},
		"another prefix":     {answer{body: goodCreated + events(`{"kv":{"key":"eA==","mod_revision":"6"}}`), hang: true}, etcd.Malformed, 0},
		"an unknown event":   {answer{body: goodCreated + events(`{"type":"X","kv":{"key":`+key("k")+`,"mod_revision":"6"}}`), hang: true}, etcd.Malformed, 0},
		"refused":            {answer{body: `{"error":{"grpc_code":7,"message":"etcdserver: permission denied"}}`}, etcd.Refused, 0},
		"no leader":          {answer{body: goodCreated + `{"error":{"grpc_code":14,"message":"etcdserver: no leader"}}`}, etcd.Leaderless, 0},
		"cancelled":          {answer{body: goodCreated + `{"result":{` + goodHeader + `,"canceled":true,"cancel_reason":"why not"}}` + "\n", hang: true}, etcd.Undecided, 0},
		"not created":        {answer{hang: true}, etcd.Lost, 0},
		"a drip":             {http.HandlerFunc(drip), etcd.Lost, 0},
		"404":                {answer{status: 404, body: "Not Found"}, etcd.NoGateway, 0},
		"endless":            {http.HandlerFunc(endless), etcd.Malformed, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t, waitFor(c.kind), patient, engine(t, c.hostile))
			seen := 0
			err := s.Watch(t.Context(), "", 5, func(cluster.Entry) { seen++ })
			require.Equal(t, []etcd.Kind{c.kind}, kindsOf(err), err)
			require.Equal(t, c.seen, seen)
			require.Equal(t, name == "endless", errors.Is(err, cluster.ErrCompacted), "the same message would come again")
		})
	}
}

// A watch that hears nothing begins again at the next endpoint, from where it was.
func TestSilentWatch(t *testing.T) {
	event := `{"result":{` + goodHeader + `,"events":[{"kv":{"key":` + key("k") + `,"mod_revision":"%d"}}]}}` + "\n"
	silent := engine(t, answer{body: goodCreated + fmt.Sprintf(event, 6), hang: true})
	requests := make(chan string, 1)
	speaks := engine(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		requests <- string(body)
		answer{body: strings.Replace(goodCreated, `"5"`, `"6"`, 1) + fmt.Sprintf(event, 7)}.ServeHTTP(w, r)
	}))
	var seen []uint64
	err := open(t, patient, brief, silent, speaks).Watch(t.Context(), "", 5, func(e cluster.Entry) { seen = append(seen, e.Revision) })
	require.Equal(t, []etcd.Kind{etcd.Lost}, kindsOf(err), err)
	require.Equal(t, []uint64{6, 7}, seen)
	require.Contains(t, <-requests, `"start_revision":"7"`)
}

// A swap whose answer is lost is not sent again, neither to the same endpoint nor to another.
func TestSwapIsSentOnce(t *testing.T) {
	for name, hostile := range map[string]http.Handler{"reset": http.HandlerFunc(reset), "silence": answer{hang: true}, "not etcd": answer{body: "hello"}} {
		t.Run(name, func(t *testing.T) {
			var swaps atomic.Uint32
			counted := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				swaps.Add(1)
				hostile.ServeHTTP(w, r)
			})
			s := open(t, brief, brief, engine(t, counted), engine(t, counted), engine(t, counted))
			_, err := s.Swap(t.Context(), cluster.Swap{Key: "k", Value: []byte{}})
			require.ErrorIs(t, err, cluster.ErrUnknown)
			require.EqualValues(t, 1, swaps.Load())
		})
	}
}

// A swap tries the next endpoint while nothing has been sent.
func TestSwapPassesDeadEndpoints(t *testing.T) {
	done := answer{body: `{"header":{"cluster_id":"7","revision":"6"},"succeeded":true}`}
	cutOff := engine(t, answer{status: 503, body: `{"code":14,"message":"etcdserver: no leader"}`})
	s := open(t, patient, patient, "http://"+loopback.Reserve(t, 1)[0], cutOff, engine(t, done))
	revision, err := s.Swap(t.Context(), cluster.Swap{Key: "k", Value: []byte{}})
	require.NoError(t, err)
	require.EqualValues(t, 6, revision)
}

// An error that only the operator can end is returned at once; one that may pass is not if another endpoint answers.
func TestOpen(t *testing.T) {
	good := serve(t, answer{body: goodStatus})
	for name, c := range map[string]struct {
		urls []string
		kind etcd.Kind
		want string
	}{
		"too old":         {[]string{good, serve(t, answer{body: `{` + goodHeader + `,"version":"3.3.27"}`})}, etcd.TooOld, "3.4"},
		"no version":      {[]string{serve(t, answer{body: `{` + goodHeader + `}`})}, etcd.TooOld, "3.4"},
		"no gateway":      {[]string{good, serve(t, http.NotFoundHandler())}, etcd.NoGateway, "--enable-grpc-gateway"},
		"another cluster": {[]string{good, serve(t, answer{body: `{"header":{"cluster_id":"8","revision":"9"},"version":"3.5.0"}`})}, etcd.OtherCluster, "one cluster"},
		"not etcd":        {[]string{good, serve(t, answer{body: "hello"})}, etcd.Malformed, "client URL"},
		"nobody":          {[]string{"http://" + loopback.Reserve(t, 1)[0]}, etcd.Unreachable, "running"},
		"silence":         {[]string{serve(t, answer{hang: true})}, etcd.Lost, "in time"},
	} {
		_, err := etcd.Open(t.Context(), etcd.Config{Endpoints: c.urls, Timeout: waitFor(c.kind)})
		require.Equal(t, []etcd.Kind{c.kind}, kindsOf(err), name)
		require.ErrorContains(t, err, c.want)
	}
	open(t, brief, brief, "http://"+loopback.Reserve(t, 1)[0], good, serve(t, answer{hang: true}))
}

// Only loopback is used without TLS and a client certificate (E5).
func TestEndpoints(t *testing.T) {
	withCertificate := &tls.Config{Certificates: make([]tls.Certificate, 1)}
	for url, c := range map[string]struct {
		tls  *tls.Config
		want string
	}{
		"http://10.0.0.1:2379":              {withCertificate, "want https"},
		"http://example.org:2379":           {nil, "want https"},
		"http://127.0.0.1.example.org:2379": {nil, "want https"},
		"http://0.0.0.0:2379":               {nil, "want https"},
		"https://10.0.0.1:2379":             {nil, "client certificate"},
		"https://[fd00::1]:2379":            {&tls.Config{}, "client certificate"},
		"10.0.0.1:2379":                     {nil, "want a URL"},
		"unix:///run/etcd":                  {nil, "want a URL"},
		"ftp://127.0.0.1":                   {nil, "want a URL"},
		"http://":                           {nil, "want a URL"},
		"http://127.0.0.1:2379/v3":          {nil, "alone"},
		"http://user:secret@127.0.0.1:2379": {nil, "alone"},
		"http://127.0.0.1:port":             {nil, "want a URL"},
	} {
		_, err := etcd.Open(t.Context(), etcd.Config{Endpoints: []string{url}, TLS: c.tls})
		require.ErrorContains(t, err, c.want, url)
		require.NotContains(t, err.Error(), "secret")
	}
	_, err := etcd.Open(t.Context(), etcd.Config{})
	require.ErrorContains(t, err, "0 endpoints")
}

// A client certificate is presented, and an endpoint with another authority is not used.
func TestTLS(t *testing.T) {
	server := httptest.NewUnstartedServer(answer{body: goodStatus})
	server.TLS = &tls.Config{ClientAuth: tls.RequireAnyClientCert}
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	defer server.Close()
	roots := x509.NewCertPool()
	roots.AddCert(server.Certificate())
	config := etcd.Config{Endpoints: []string{server.URL}, CompactEvery: -1, TLS: &tls.Config{RootCAs: roots, Certificates: server.TLS.Certificates}}
	s, err := etcd.Open(t.Context(), config)
	require.NoError(t, err)
	s.Close()
	for _, wrong := range []*tls.Config{nil, {}, {RootCAs: roots}, {RootCAs: x509.NewCertPool(), Certificates: server.TLS.Certificates}} {
		config.TLS = wrong
		_, err := etcd.Open(t.Context(), config)
		require.ErrorContains(t, err, "certificate")
	}
}

// The context ends every call, also those that wait for a connection.
func TestContextEnds(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0") // accepts by the kernel alone
	require.NoError(t, err)
	defer func() { _ = l.Close() }()
	good := engine(t, answer{hang: true})
	s, err := etcd.Open(t.Context(), etcd.Config{Endpoints: []string{good, "http://" + l.Addr().String()}, CompactEvery: -1, Timeout: brief})
	require.NoError(t, err)
	defer s.Close()
	ctx, cancel := context.WithTimeout(t.Context(), brief+brief/5)
	defer cancel()
	_, _, err = cluster.ReadAll(ctx, s, "")
	require.ErrorIs(t, err, context.DeadlineExceeded)
	_, err = s.Swap(ctx, cluster.Swap{Key: "k", Value: []byte{}})
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.NotErrorIs(t, err, cluster.ErrUnknown)
	require.ErrorIs(t, s.Watch(ctx, "", 1, nil), context.DeadlineExceeded)
}
