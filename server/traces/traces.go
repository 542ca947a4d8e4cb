// Package traces exports the spans of a server (server.Config.Trace, host.Definition.Trace) by OTLP over HTTP, with the
// OpenTelemetry SDK. It is a module of its own: programs without traces need none of it.
//
//	exporter, err := traces.New(ctx, "mygame")
//	...
//	host.Main(host.Definition{..., Trace: exporter.Trace})
//
// The SDK's variables configure it: OTEL_EXPORTER_OTLP_ENDPOINT, OTEL_TRACES_SAMPLER, OTEL_RESOURCE_ATTRIBUTES and others.
// Without an endpoint New returns an exporter that drops all spans.
//
// Each span is a trace: join and move have session, user and room, save its result, and tick one child for each
// phase. The exporter never delays a server: what its queue (2,048 spans) cannot hold is dropped.
package traces

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/worldd/worldd/server"
)

// phases are the names of Span.Phases.
var phases = [...]string{"receive", "step", "replicate", "between"}

// Exporter sends spans in batches.
type Exporter struct {
	provider *sdktrace.TracerProvider // nil: there is no endpoint
	tracer   trace.Tracer
}

// New returns an exporter for a service's name. It connects with its first batch.
func New(ctx context.Context, service string) (*Exporter, error) {
	if cmp.Or(os.Getenv("OTEL_EXPORTER_OTLP_ENDPOINT"), os.Getenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")) == "" {
		return &Exporter{}, nil
	}
	client, err := otlptracehttp.New(ctx)
	if err != nil {
		return nil, fmt.Errorf("traces: %w", err)
	}
	about, err := resource.New(ctx, resource.WithAttributes(attribute.String("service.name", service)), resource.WithFromEnv(), resource.WithHost())
	if err != nil {
		return nil, errors.Join(fmt.Errorf("traces: %w", err), client.Shutdown(ctx))
	}
	provider := sdktrace.NewTracerProvider(sdktrace.WithBatcher(client), sdktrace.WithResource(about))
	return &Exporter{provider: provider, tracer: provider.Tracer("github.com/worldd/worldd/server/traces")}, nil
}

// Trace queues a span. It is a server.Config.Trace.
func (e *Exporter) Trace(s server.Span) {
	if e.provider == nil {
		return
	}
	ctx, span := e.tracer.Start(context.Background(), s.Name, trace.WithTimestamp(s.Began), trace.WithAttributes(attributesOf(s)...))
	if s.Name == "tick" && span.IsRecording() {
		e.traceTick(ctx, s)
	}
	if s.Err != nil {
		span.SetStatus(codes.Error, s.Err.Error())
	}
	span.End(trace.WithTimestamp(s.Began.Add(s.Took)))
}

// traceTick queues the phases of a tick, one after the other.
func (e *Exporter) traceTick(ctx context.Context, s server.Span) {
	at := s.Began
	for i, took := range s.Phases {
		_, phase := e.tracer.Start(ctx, phases[i], trace.WithTimestamp(at))
		at = at.Add(took)
		phase.End(trace.WithTimestamp(at))
	}
}

func attributesOf(s server.Span) []attribute.KeyValue {
	all := []attribute.KeyValue{attribute.String("worldd.epoch", fmt.Sprintf("%016x", s.Epoch))}
	text := func(key, value string) {
		if value != "" {
			all = append(all, attribute.String(key, value))
		}
	}
	text("worldd.room", s.Room)
	text("worldd.from", s.From)
	text("worldd.user", s.User)
	if s.Session != 0 {
		all = append(all, attribute.Int64("worldd.session", int64(s.Session)))
	}
	if s.Tick != 0 {
		all = append(all, attribute.Int64("worldd.tick", int64(s.Tick)))
	}
	return all
}

// Close sends the queued spans, for the time of ctx at most.
func (e *Exporter) Close(ctx context.Context) error {
	if e.provider == nil {
		return nil
	}
	return e.provider.Shutdown(ctx)
}
