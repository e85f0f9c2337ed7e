package lockotel

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"muxlock/engine"
)

// spans returns a tracer, and what it has exported.
func spans(t *testing.T, opts ...sdk.TracerProviderOption) (trace.Tracer, *tracetest.InMemoryExporter) {
	exported := tracetest.NewInMemoryExporter()
	provider := sdk.NewTracerProvider(append(opts, sdk.WithSyncer(exported))...)
	t.Cleanup(func() { _ = provider.Shutdown(context.Background()) })
	return provider.Tracer("muxlock"), exported
}

func attributes(of []attribute.KeyValue) map[string]string {
	all := make(map[string]string)
	for _, a := range of {
		all[string(a.Key)] = a.Value.String()
	}
	return all
}

func TestAnAcquireIsASpanOfItsCallersTrace(t *testing.T) {
	began := time.Now()
	denied := &engine.AttemptError{Kind: engine.ErrNoQuorum}
	taken := &engine.AttemptError{Kind: engine.ErrTaken}
	votes := func(granted, refused, unanswered string, all map[string]string) map[string]string {
		all["muxlock.masters.granted"], all["muxlock.masters.refused"], all["muxlock.masters.unanswered"] = granted, refused, unanswered
		return all
	}
	for _, c := range []struct {
		of     engine.Traced
		status codes.Code
		want   map[string]string
	}{
		{engine.Traced{Names: []string{"a"}, Kind: "exclusive", Got: "handed over", Locks: 1, Attempt: engine.AttemptError{Granted: 3}}, codes.Unset, votes("3", "0", "0", map[string]string{
			"muxlock.kind": "exclusive", "muxlock.name": "class of a", "muxlock.outcome": "acquired", "muxlock.got": "handed over", "muxlock.attempts": "0", "muxlock.locks": "1",
		})},
		{engine.Traced{Names: []string{"a"}, Kind: "shared", Attempts: 4, Attempt: engine.AttemptError{Refused: 3, Holder: "pod-7", InLine: 2}, Err: fmt.Errorf("%w; %w", taken, context.Canceled)}, codes.Unset, votes("0", "3", "0", map[string]string{
			"muxlock.kind": "shared", "muxlock.name": "class of a", "muxlock.outcome": "taken", "error.type": "taken", "muxlock.attempts": "4", "muxlock.locks": "0", "muxlock.holder": "pod-7", "muxlock.in_line": "2",
		})},
		{engine.Traced{Kind: "set", Err: engine.ErrInvalid}, codes.Error, votes("0", "0", "0", map[string]string{ // of no names
			"muxlock.kind": "set", "muxlock.outcome": "invalid", "error.type": "invalid", "muxlock.attempts": "0", "muxlock.locks": "0",
		})},
		{engine.Traced{Names: []string{"\xff"}, Kind: "exclusive", Locks: 1}, codes.Unset, votes("0", "0", "0", map[string]string{ // OTLP has no other text than UTF-8
			"muxlock.kind": "exclusive", "muxlock.name": "class of ?", "muxlock.outcome": "acquired", "muxlock.attempts": "0", "muxlock.locks": "1",
		})},
		{engine.Traced{Names: []string{"a", "b"}, Kind: "set", Attempts: 1, Attempt: engine.AttemptError{Unknown: 2, Causes: []engine.MasterError{{Master: "b:1"}, {Master: "c:1"}}}, Err: denied}, codes.Error, votes("0", "0", "2", map[string]string{
			"muxlock.kind": "set", "muxlock.names": "2", "muxlock.outcome": "no_quorum", "error.type": "no_quorum", "muxlock.attempts": "1", "muxlock.locks": "0", "muxlock.unanswered": `["b:1","c:1"]`,
		})},
	} {
		tracer, exported := spans(t)
		ctx, request := tracer.Start(t.Context(), "request")
		c.of.Begin, c.of.End = began, began.Add(time.Second)
		NewTracer(tracer, TraceOptions{Name: func(name string) string { return "class of " + name }}).Acquired(ctx, &c.of)
		got := exported.GetSpans()[0]
		require.Equal(t, c.want, attributes(got.Attributes))
		require.Equal(t, request.SpanContext().SpanID(), got.Parent.SpanID())
		require.Equal(t, []any{"muxlock.acquire", trace.SpanKindInternal, c.status, began.UnixNano(), time.Second},
			[]any{got.Name, got.SpanKind, got.Status.Code, got.StartTime.UnixNano(), got.EndTime.Sub(got.StartTime)})
	}
}

func TestAHoldHasEventsAndIsTheParentOfWhatItsFunctionTraces(t *testing.T) {
	tracer, exported := spans(t)
	began := time.Now()
	of := &engine.Traced{Names: []string{"a"}, Kind: "leader", Begin: began}
	ctx, ended := NewTracer(tracer, TraceOptions{}).Holding(t.Context(), of)
	_, work := tracer.Start(ctx, "work")
	work.End()
	of.End, of.Err = began.Add(time.Minute), errors.New("secret")
	of.Events = []engine.TraceEvent{
		{At: began.Add(time.Second), Err: &engine.AttemptError{Kind: engine.ErrNoQuorum}},
		{At: began.Add(2 * time.Second), Lost: "expired", Err: fmt.Errorf("%w; %w; %w", engine.ErrLost, engine.ErrExpired, engine.ErrNoQuorum)},
	}
	ended(of)
	all := exported.GetSpans()
	hold := all[1]
	require.Equal(t, hold.SpanContext.SpanID(), all[0].Parent.SpanID())
	require.Equal(t, map[string]string{"muxlock.kind": "leader", "error.type": "fn"}, attributes(hold.Attributes))
	require.Equal(t, []any{"muxlock.hold", codes.Error, "", time.Minute}, []any{hold.Name, hold.Status.Code, hold.Status.Description, hold.EndTime.Sub(hold.StartTime)})
	var events []string
	for _, e := range hold.Events {
		events = append(events, fmt.Sprint(e.Name, " ", e.Time.Sub(began), " ", attributes(e.Attributes)))
	}
	require.Equal(t, []string{"renewal failed 1s map[error.type:no_quorum]", "lost 2s map[error.type:expired]"}, events)

	tracer, exported = spans(t, sdk.WithSampler(sdk.NeverSample()))
	_, ended = NewTracer(tracer, TraceOptions{}).Holding(t.Context(), of)
	ended(of)
	require.Empty(t, exported.GetSpans())
}

func TestARequestOfAnotherServiceIsSampledAsItSays(t *testing.T) {
	tracer, exported := spans(t)
	engineTracer := NewTracer(tracer, TraceOptions{})
	for flags, want := range map[trace.TraceFlags]bool{trace.FlagsSampled: true, 0: false} {
		from := trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{2}, TraceFlags: flags, Remote: true})
		require.Equal(t, want, engineTracer.Wants(trace.ContextWithRemoteSpanContext(t.Context(), from)), "it has no span of its own here")
	}
	ctx, _ := tracer.Start(t.Context(), "request")
	require.True(t, engineTracer.Wants(ctx))
	require.True(t, engineTracer.Wants(t.Context()), "the sampler decides")
	require.Empty(t, exported.GetSpans())
}
