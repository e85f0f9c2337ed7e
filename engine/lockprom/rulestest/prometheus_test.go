package rulestest

import (
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/prometheus/prometheus/tsdb/chunks"
	"github.com/prometheus/prometheus/util/annotations"
	"github.com/stretchr/testify/require"
)

// interval is between two scrapes.
const interval = 15 * time.Second

// A server keeps what it scrapes and answers queries with Prometheus' own engine. Its clock
// goes on by scrapes alone.
type server struct {
	engine *promql.Engine
	now    time.Time
	series map[model.Fingerprint]*series
}

type series struct {
	labels  labels.Labels
	samples []chunks.Sample
}

func newServer() *server {
	return &server{
		engine: promql.NewEngine(promql.EngineOpts{MaxSamples: 1e6, Timeout: time.Minute}),
		now:    time.Unix(1e9, 0),
		series: make(map[model.Fingerprint]*series),
	}
}

// scrape reads what a service with the registry shows.
func (s *server) scrape(t *testing.T, registry *prometheus.Registry) {
	t.Helper()
	page := httptest.NewRecorder()
	promhttp.HandlerFor(registry, promhttp.HandlerOpts{}).ServeHTTP(page, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	require.Equal(t, http.StatusOK, page.Code, page.Body)
	s.read(t, page.Body.String())
}

// read is scrape for the text of a page.
func (s *server) read(t *testing.T, page string) {
	t.Helper()
	s.now = s.now.Add(interval)
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(page))
	require.NoError(t, err)
	require.NotEmpty(t, families)
	samples, err := expfmt.ExtractSamples(&expfmt.DecodeOptions{Timestamp: model.TimeFromUnixNano(s.now.UnixNano())}, slices.Collect(maps.Values(families))...)
	require.NoError(t, err)
	for _, read := range samples {
		read.Metric["job"], read.Metric["instance"] = "service", "10.0.1.1:9090"
		at := read.Metric.Fingerprint()
		if s.series[at] == nil {
			text := make(map[string]string)
			for name, value := range read.Metric {
				text[string(name)] = string(value)
			}
			s.series[at] = &series{labels: labels.FromMap(text)}
		}
		s.series[at].samples = append(s.series[at].samples, sample{at: int64(read.Timestamp), value: float64(read.Value)})
	}
}

// query evaluates an expression at a moment.
func (s *server) query(t *testing.T, expr string, at time.Time) promql.Vector {
	t.Helper()
	query, err := s.engine.NewInstantQuery(t.Context(), storage.QueryableFunc(s.querier), nil, expr, at)
	require.NoError(t, err, expr)
	defer query.Close()
	result := query.Exec(t.Context())
	require.NoError(t, result.Err, expr)
	require.Empty(t, result.Warnings, expr)
	vector, err := result.Vector()
	require.NoError(t, err, expr)
	return slices.Clone(vector)
}

func (s *server) querier(_, _ int64) (storage.Querier, error) {
	return &storage.MockQuerier{SelectMockFunction: func(_ bool, _ *storage.SelectHints, matchers ...*labels.Matcher) storage.SeriesSet {
		var found []storage.Series
		for _, one := range s.series {
			if !slices.ContainsFunc(matchers, func(m *labels.Matcher) bool { return !m.Matches(one.labels.Get(m.Name)) }) {
				found = append(found, storage.NewListSeries(one.labels, one.samples))
			}
		}
		return &set{found: found}
	}}, nil
}

// set is a storage.SeriesSet of what was found.
type set struct {
	found []storage.Series
	next  int
}

func (s *set) Next() bool         { s.next++; return s.next <= len(s.found) }
func (s *set) At() storage.Series { return s.found[s.next-1] }

func (s *set) Err() error                        { return nil }
func (s *set) Warnings() annotations.Annotations { return nil }

// sample is a chunks.Sample that is no histogram.
type sample struct {
	chunks.Sample
	at    int64
	value float64
}

func (s sample) T() int64                 { return s.at }
func (s sample) F() float64               { return s.value }
func (s sample) Type() chunkenc.ValueType { return chunkenc.ValFloat }
func (s sample) Copy() chunks.Sample      { return s }
