// Package lockdebug has a page of the locks of a process, as net/http/pprof has of its goroutines: its masters, the locks it
// holds, who waits for what, hot names, and the last losses.
//
//	http.Handle("/debug/muxlock/", lockdebug.Handler(locks))
//
// Nothing registers itself. The page shows the names of locks, and no token: serve it where you serve pprof.
package lockdebug

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"html/template"
	"net/http"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/singleflight"

	"muxlock/engine"
	"muxlock/engine/internal/inside"
)

// most is how many locks, and how many names that somebody waits for, are shown.
const most = 1000

// Handler returns a handler of the page of locks:
//
//	(path)/               HTML, which needs nothing from outside
//	(path)/?format=json   the same as JSON
//	(path)/measured       Engine.Measured as JSON, for lockbench advise --from
//
// Requests that come at once share a snapshot. It takes each mutex of the engine for a moment, and asks no master. Up to
// 1,000 locks are shown, and as many names that are waited for, with the number of all. Fields are added, never renamed.
//
// For package groups, give it the embedded engine.
func Handler(locks *engine.Engine) http.Handler { return &handler{locks: locks} }

type handler struct {
	locks  *engine.Engine
	shared singleflight.Group
}

// page is what is shown.
type page struct {
	At       time.Time `json:"at"`
	Acquired uint64    `json:"acquired"` // since the start, as the next
	Losses   uint64    `json:"losses"`
	Masters  []master  `json:"masters"`
	inside.Snapshot
	HotByWait     []engine.HotName `json:"hot_by_wait"`
	HotByAcquires []engine.HotName `json:"hot_by_acquires"`
}

type master struct {
	Address   string        `json:"address"`
	Votes     bool          `json:"votes"`
	Since     time.Time     `json:"since"`
	Cause     string        `json:"cause,omitempty"` // why it does not vote
	RoundTrip time.Duration `json:"round_trip_ns"`
	Lines     bool          `json:"lines"` // processes stand in line there
}

func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	format, contentType := "html", "text/html; charset=utf-8"
	switch asked := r.URL.Query().Get("format"); {
	case strings.HasSuffix(r.URL.Path, "/measured"):
		format, contentType = "measured", "application/json"
	case asked == "json":
		format, contentType = "json", "application/json"
	case asked != "" && asked != "html":
		http.Error(w, fmt.Sprintf("format must be html or json, got %.40q", asked), http.StatusBadRequest)
		return
	}
	body, err, _ := h.shared.Do(format, func() (any, error) { return h.body(format) })
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", contentType)
	w.Header().Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'")
	_, _ = w.Write(body.([]byte)) // the client may be gone
}

func (h *handler) body(format string) ([]byte, error) {
	var b bytes.Buffer
	var err error
	e := json.NewEncoder(&b)
	e.SetIndent("", "  ")
	switch format {
	case "measured":
		err = e.Encode(h.locks.Measured())
	case "json":
		err = e.Encode(h.page())
	default:
		err = frame.Execute(&b, h.page())
	}
	return b.Bytes(), err
}

func (h *handler) page() page {
	stats := h.locks.Stats()
	p := page{Snapshot: inside.Of(h.locks).Snapshot(most), Acquired: stats.Acquired, Losses: stats.Lost}
	p.At = time.Now()
	for _, m := range stats.Masters {
		one := master{Address: inside.Shown(m.Address), Votes: m.Up && m.Cause == nil, Since: m.Since, RoundTrip: m.RoundTrip, Lines: m.Lines}
		if m.Cause != nil {
			one.Cause = m.Cause.Error()
		}
		p.Masters = append(p.Masters, one)
	}
	slices.SortFunc(p.Held, func(a, b inside.Held) int { return a.Since.Compare(b.Since) })
	slices.SortFunc(p.Waited, func(a, b inside.Waited) int { return b.Waiting - a.Waiting })
	slices.Reverse(p.Lost)
	p.HotByWait, p.HotByAcquires = h.locks.HotNames()
	each(&p.Held, func(l *inside.Held) *string { return &l.Name })
	each(&p.Waited, func(n *inside.Waited) *string { return &n.Name })
	each(&p.Lost, func(l *inside.Lost) *string { return &l.Name })
	each(&p.HotByWait, func(n *engine.HotName) *string { return &n.Name })
	each(&p.HotByAcquires, func(n *engine.HotName) *string { return &n.Name })
	return p
}

// each makes names printable. JSON has an array also where there is nothing.
func each[T any](all *[]T, name func(*T) *string) {
	*all = append([]T{}, *all...)
	for i := range *all {
		*name(&(*all)[i]) = inside.Shown(*name(&(*all)[i]))
	}
}

//go:embed page.html
var source string

var frame = template.Must(template.New("").Funcs(template.FuncMap{
	"ago":   func(p page, at time.Time) string { return short(p.At.Sub(at)) },
	"in":    func(p page, at time.Time) string { return short(at.Sub(p.At)) },
	"for":   short,
	"less":  func(a, b time.Duration) time.Duration { return a - b },
	"lessN": func(a, b uint64) uint64 { return a - b },
}).Parse(source))

// short writes a time with two or three digits.
func short(d time.Duration) string {
	for _, unit := range []time.Duration{time.Hour, time.Minute, time.Second, time.Millisecond, time.Microsecond} {
		if d.Abs() >= unit {
			return d.Round(unit / 100).String()
		}
	}
	return d.String()
}
