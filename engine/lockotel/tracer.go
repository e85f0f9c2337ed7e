package lockotel

import (
	"context"
	"errors"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"muxlock/engine"
	"muxlock/engine/internal/metrics"
)

// TraceOptions of NewTracer; all may be left out.
type TraceOptions struct {
	// Name maps the name of a lock to the attribute muxlock.name. Default nil: no such attribute. Whoever reads traces sees
	// what it returns.
	Name func(name string) string
}

// NewTracer returns the Config.Tracer that puts spans into the traces of callers. All are internal spans:
//
//	muxlock.acquire  from the call of an acquire, of any verb and kind, to its end
//	muxlock.hold     fn of Do, TryDo, DoShared, DoPermit, DoAll or Lead; fn's ctx has it. Events: lost, renewal failed
//	muxlock.release  a Release that asked the masters
//
// There is no convention for locks. So attributes begin with muxlock: kind; outcome (acquired, released, taken, no_quorum,
// expired, denied, overloaded, closed, not_held, invalid, ctx_ended, other); attempts; got (asked, handed over, passed on,
// joined); masters.granted, masters.refused and masters.unanswered; unanswered, their addresses; holder and in_line: who was
// last seen to have the name, and how many stood in line before the caller, if an answer said so; names, how many were wanted
// if several; locks, how many were locked. error.type is the outcome of a call that failed, or fn for a hold whose fn did. The
// status is Error then, but not for taken: somebody else has the lock.
// No attribute has the text of an error, which may have names. A caller whose own span is not sampled gets none.
func NewTracer(tracer trace.Tracer, opts TraceOptions) *engine.Tracer {
	t := tracing{tracer, opts.Name}
	return &engine.Tracer{Wants: t.wants, Acquired: t.acquired, Holding: t.holding, Released: t.released}
}

type tracing struct {
	tracer trace.Tracer
	name   func(string) string
}

// wants reports whether ctx has a span that is sampled, or none. Under a span that is not sampled none is made.
func (t tracing) wants(ctx context.Context) bool {
	span := trace.SpanFromContext(ctx)
	of := span.SpanContext()
	return span.IsRecording() || of.IsSampled() || !of.IsValid()
}

func (t tracing) acquired(ctx context.Context, of *engine.Traced) {
	a := &of.Attempt
	all := append(make([]attribute.KeyValue, 0, 12), attribute.Int("muxlock.attempts", of.Attempts), attribute.Int("muxlock.locks", of.Locks),
		attribute.Int("muxlock.masters.granted", a.Granted), attribute.Int("muxlock.masters.refused", a.Refused), attribute.Int("muxlock.masters.unanswered", a.Unknown))
	if of.Got != "" {
		all = append(all, attribute.String("muxlock.got", of.Got))
	}
	if a.Holder != "" {
		all = append(all, attribute.String("muxlock.holder", a.Holder), attribute.Int("muxlock.in_line", a.InLine))
	}
	if len(a.Causes) > 0 {
		unanswered := make([]string, len(a.Causes))
		for i, m := range a.Causes {
			unanswered[i] = strings.ToValidUTF8(m.Master, "?")
		}
		all = append(all, attribute.StringSlice("muxlock.unanswered", unanswered))
	}
	t.ended(ctx, "muxlock.acquire", of, "acquired", all)
}

func (t tracing) released(ctx context.Context, of *engine.Traced) {
	t.ended(ctx, "muxlock.release", of, "released", nil)
}

// ended makes the span of a call that has ended.
func (t tracing) ended(ctx context.Context, name string, of *engine.Traced, outcome string, all []attribute.KeyValue) {
	_, span := t.start(ctx, name, of)
	if of.Err != nil {
		outcome = metrics.Result(of.Err)
		all = append(all, attribute.String("error.type", outcome))
		if !errors.Is(of.Err, engine.ErrTaken) {
			span.SetStatus(codes.Error, "")
		}
	}
	span.SetAttributes(append(all, attribute.String("muxlock.outcome", outcome))...)
	span.End(trace.WithTimestamp(of.End))
}

func (t tracing) holding(ctx context.Context, of *engine.Traced) (context.Context, func(*engine.Traced)) {
	ctx, span := t.start(ctx, "muxlock.hold", of)
	return ctx, func(of *engine.Traced) {
		for _, e := range of.Events {
			what, why := "lost", e.Lost
			if why == "" {
				what, why = "renewal failed", metrics.Result(e.Err)
			}
			span.AddEvent(what, trace.WithTimestamp(e.At), trace.WithAttributes(attribute.String("error.type", why)))
		}
		if of.Err != nil {
			span.SetAttributes(attribute.String("error.type", "fn"))
			span.SetStatus(codes.Error, "")
		}
		span.End(trace.WithTimestamp(of.End))
	}
}

// start begins a span.
func (t tracing) start(ctx context.Context, name string, of *engine.Traced) (context.Context, trace.Span) {
	all := []attribute.KeyValue{attribute.String("muxlock.kind", of.Kind)}
	if len(of.Names) > 1 {
		all = append(all, attribute.Int("muxlock.names", len(of.Names)))
	} else if t.name != nil && len(of.Names) == 1 {
		all = append(all, attribute.String("muxlock.name", strings.ToValidUTF8(t.name(of.Names[0]), "?")))
	}
	return t.tracer.Start(ctx, name, trace.WithSpanKind(trace.SpanKindInternal), trace.WithTimestamp(of.Begin), trace.WithAttributes(all...))
}
