// Package lockdebug has a page of the locks of a process, as net/http/pprof has of its goroutines: its masters, the locks it
// holds, who waits for what, hot names, and the last losses.
//
//	http.Handle("/debug/muxlock/", lockdebug.Handler(locks))
//
// Nothing registers itself. The page shows the names of locks, and no token: serve it where you serve pprof.
package lockdebug

import (
	"bytes"
	"cmp"
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
// Requests for one of them that come at once share a snapshot. It takes each mutex of the engine for a moment, and asks no master. Up to
// 1,000 locks are shown, and as many names that are waited for, with the number of all. Fields are added, never renamed.
//
// For package groups, give it the embedded engine.
func Handler(locks *engine.Engine) http.Handler {
	var shared singleflight.Group
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		format, contentType := cmp.Or(r.URL.Query().Get("format"), "html"), "application/json"
		if strings.HasSuffix(r.URL.Path, "/measured") {
			format = "measured"
		} else if format == "html" {
			contentType = "text/html; charset=utf-8"
		}
		body, err, _ := shared.Do(format, func() (any, error) { return body(locks, format) })
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		w.Header().Set("Cache-Control", "no-store")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.Header().Set("Content-Type", contentType)
		w.Header().Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'")
		_, _ = w.Write(body.([]byte)) // the client may be gone
	})
}

func body(locks *engine.Engine, format string) ([]byte, error) {
	switch format {
	case "measured":
		return json.MarshalIndent(locks.Measured(), "", "  ")
	case "json":
		return json.MarshalIndent(newPage(locks), "", "  ")
	case "html":
		var b bytes.Buffer
		err := frame.Execute(&b, newPage(locks))
		return b.Bytes(), err
	}
	return nil, fmt.Errorf("format must be html or json, got %.40q", format)
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

func newPage(locks *engine.Engine) page {
	stats := locks.Stats()
	p := page{Snapshot: inside.Of(locks).Snapshot(most), Acquired: stats.Acquired, Losses: stats.Lost}
	p.At = time.Now()
	for _, m := range stats.Masters {
		one := master{Address: inside.Shown(m.Address), Votes: m.Up && m.Cause == nil, Since: m.Since, RoundTrip: m.RoundTrip, Lines: m.Lines}
		if m.Cause != nil {
			one.Cause = m.Cause.Error()
		}
		p.Masters = append(p.Masters, one)
	}
	slices.SortFunc(p.Held, func(a, b inside.Held) int { return a.Since.Compare(b.Since) })
	slices.SortFunc(p.Waited, func(a, b inside.Waited) int { return cmp.Or(b.Waiting-a.Waiting, a.Since.Compare(b.Since)) })
	p.HotByWait, p.HotByAcquires = locks.HotNames()
	for _, names := range [][]engine.HotName{p.HotByWait, p.HotByAcquires} {
		for i := range names {
			names[i].Name = inside.Shown(names[i].Name)
		}
	}
	return p
}

//go:embed page.html
var source string

var frame = template.Must(template.New("").Funcs(template.FuncMap{"for": short}).Parse(source))

// short writes a time with two or three digits.
func short(d time.Duration) string {
	for _, unit := range []time.Duration{time.Hour, time.Minute, time.Second, time.Millisecond, time.Microsecond} {
		if d.Abs() >= unit {
			return d.Round(unit / 100).String()
		}
	}
	return d.String()
}
