package traces_test

import (
	"compress/gzip"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	otlp "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/server"
	"github.com/worldd/worldd/server/traces"
)

// receiver is an OTLP/HTTP receiver.
type receiver struct {
	t  *testing.T
	mu sync.Mutex
	// spans are what has arrived, by name, and services the names of their services.
	spans    map[string][]*otlp.Span
	services map[string]bool
}

func newReceiver(t *testing.T) *receiver {
	r := &receiver{t: t, spans: map[string][]*otlp.Span{}, services: map[string]bool{}}
	s := httptest.NewServer(r)
	t.Cleanup(s.Close)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", s.URL)
	return r
}

// ServeHTTP takes a batch.
func (r *receiver) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	body := io.Reader(request.Body)
	if request.Header.Get("Content-Encoding") == "gzip" {
		unzipped, err := gzip.NewReader(request.Body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		body = unzipped
	}
	data, err := io.ReadAll(body)
	var batch collector.ExportTraceServiceRequest
	if err == nil {
		err = proto.Unmarshal(data, &batch)
	}
	if err != nil || request.URL.Path != "/v1/traces" {
		http.Error(w, "want OTLP traces", http.StatusBadRequest)
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, of := range batch.ResourceSpans {
		r.services[valueOf(of.Resource.Attributes, "service.name")] = true
		for _, scope := range of.ScopeSpans {
			for _, s := range scope.Spans {
				r.spans[s.Name] = append(r.spans[s.Name], s)
			}
		}
	}
}

func valueOf(all []*common.KeyValue, key string) string {
	for _, a := range all {
		if a.Key == key {
			return a.Value.GetStringValue()
		}
	}
	return ""
}

// TestExport: spans arrive with their times, attributes, errors and phases.
func TestExport(t *testing.T) {
	r := newReceiver(t)
	e := must.Get(traces.New(t.Context(), "mygame"))
	began := time.Unix(1_800_000_000, 0)
	e.Trace(server.Span{Name: "join", Began: began, Took: 2 * time.Millisecond, Room: "hall", Epoch: 0xab, Tick: 7, Session: 9, User: "ada"})
	e.Trace(server.Span{Name: "move", Began: began, Took: time.Second, Room: "match/a", From: "hall", Session: 9})
	e.Trace(server.Span{Name: "save", Began: began, Took: time.Second, Err: errors.New("disk full")})
	e.Trace(server.Span{Name: "tick", Began: began, Took: 40 * time.Millisecond, Tick: 8, Phases: [4]time.Duration{1e6, 30e6, 5e6, 4e6}})
	require.NoError(t, e.Close(t.Context()))

	require.Equal(t, map[string]bool{"mygame": true}, r.services)
	for _, name := range []string{"join", "move", "save", "tick", "receive", "step", "replicate", "between"} {
		require.Len(t, r.spans[name], 1, name)
	}
	join := r.spans["join"][0]
	require.EqualValues(t, began.UnixNano(), join.StartTimeUnixNano)
	require.EqualValues(t, began.Add(2*time.Millisecond).UnixNano(), join.EndTimeUnixNano)
	require.Equal(t, []string{"hall", "ada", "00000000000000ab"}, []string{
		valueOf(join.Attributes, "worldd.room"), valueOf(join.Attributes, "worldd.user"), valueOf(join.Attributes, "worldd.epoch"),
	})
	require.Equal(t, "hall", valueOf(r.spans["move"][0].Attributes, "worldd.from"))
	require.Equal(t, otlp.Status_STATUS_CODE_ERROR, r.spans["save"][0].Status.Code)
	require.Equal(t, "disk full", r.spans["save"][0].Status.Message)
	tick, step, between := r.spans["tick"][0], r.spans["step"][0], r.spans["between"][0]
	require.Equal(t, tick.SpanId, step.ParentSpanId)
	require.Equal(t, tick.TraceId, step.TraceId)
	require.NotEqual(t, tick.TraceId, join.TraceId)
	require.EqualValues(t, began.Add(time.Millisecond).UnixNano(), step.StartTimeUnixNano)
	require.EqualValues(t, tick.EndTimeUnixNano, between.EndTimeUnixNano)
}

// TestOffByDefault: without an endpoint nothing is made or sent.
func TestOffByDefault(t *testing.T) {
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "")
	t.Setenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "")
	e := must.Get(traces.New(t.Context(), "mygame"))
	e.Trace(server.Span{Name: "join"})
	require.NoError(t, e.Close(t.Context()))
}

// TestReceiverFails: a receiver that does not answer delays no span, and Close ends in time.
func TestReceiverFails(t *testing.T) {
	asked, over := make(chan struct{}, 100), make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		asked <- struct{}{}
		<-over
	}))
	defer s.Close()
	defer close(over)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", s.URL)
	e := must.Get(traces.New(t.Context(), "mygame"))
	for range 10_000 { // more than the queue holds
		e.Trace(server.Span{Name: "join"})
	}
	<-asked
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.Error(t, e.Close(ctx))
}
