package lockdebug

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"muxlock/engine"
	"muxlock/engine/enginetest"
	"muxlock/engine/internal/inside"
	"muxlock/internal/testing/await"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// get asks a handler for a path, and returns the body.
func get(t *testing.T, h http.Handler, path, contentType string) string {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
	require.Equal(t, http.StatusOK, w.Code, w.Body.String())
	require.Equal(t, contentType, w.Header().Get("Content-Type"))
	return w.Body.String()
}

func pageOf(t *testing.T, h http.Handler) (p page) {
	t.Helper()
	require.NoError(t, json.Unmarshal([]byte(get(t, h, "/debug/muxlock/?format=json", "application/json")), &p))
	return p
}

func TestThePageShowsWhatAProcessHoldsWantsAndHasLost(t *testing.T) {
	locks := enginetest.New(t, engine.Config{Holder: "web-7", Measure: true}).Engine
	h := Handler(locks)
	require.Contains(t, get(t, h, "/debug/muxlock/", "text/html; charset=utf-8"), "Locks of this process")

	lock, err := locks.Acquire(t.Context(), "invoice:42", 30*time.Second)
	require.NoError(t, err)
	permit, err := locks.AcquirePermit(t.Context(), "mail", 3, 30*time.Second)
	require.NoError(t, err)
	var readers []*engine.Lock
	for range 2 {
		reader, err := locks.AcquireShared(t.Context(), "price", 30*time.Second)
		require.NoError(t, err)
		readers = append(readers, reader)
	}
	require.NoError(t, lock.KeepAlive(0))
	waits, stop := context.WithCancel(t.Context())
	var all sync.WaitGroup
	for range 3 {
		all.Go(func() { _, _ = locks.Acquire(waits, "invoice:42", 0) })
	}
	await.Equal(t, 3, func() any { return locks.Stats().Waiting })
	p := pageOf(t, h)
	require.Equal(t, 3, p.HeldAll)
	byName := map[string]inside.Held{}
	for _, l := range p.Held {
		byName[l.Name] = l
	}
	one := byName["invoice:42"]
	require.Equal(t, []any{"exclusive", 1, true}, []any{one.Kind, one.Holders, one.KeptAlive})
	require.WithinDuration(t, lock.Until(), one.Until, time.Second)
	require.Equal(t, []any{"permit", permit.Slot()}, []any{byName["mail"].Kind, byName["mail"].Slot})
	require.Equal(t, []any{"shared", 2}, []any{byName["price"].Kind, byName["price"].Holders})
	require.Equal(t, []inside.Waited{{Name: "invoice:42", Kind: "exclusive", Waiting: 3, Since: p.Waited[0].Since, Here: true}}, p.Waited)
	require.WithinDuration(t, time.Now(), p.Waited[0].Since, 30*time.Second)
	require.NotEmpty(t, p.Masters)
	for _, m := range p.Masters {
		require.True(t, m.Votes)
		require.WithinDuration(t, time.Now(), m.Since, 30*time.Second)
	}
	require.Contains(t, []string{"invoice:42", "mail", "price"}, p.HotByAcquires[0].Name)
	text := get(t, h, "/", "text/html; charset=utf-8")
	for _, token := range []string{lock.Reveal(), "@web-7"} {
		require.NotContains(t, text, token)
		require.NotContains(t, get(t, h, "/?format=json", "application/json"), token)
	}
	require.Contains(t, get(t, h, "/debug/muxlock/measured", "application/json"), `"version": 1`)

	stop()
	all.Wait()
	require.Nil(t, locks.ReleaseMany(t.Context(), append(readers, permit)))
	require.NoError(t, locks.Close()) // the holder of the lock loses it
	p = pageOf(t, h)
	require.Zero(t, p.HeldAll)
	require.Equal(t, "invoice:42", p.Lost[0].Name)
	require.Contains(t, p.Lost[0].Cause, "closed")
}

func TestNamesAreShownAndNeverInterpreted(t *testing.T) {
	locks := enginetest.New(t, engine.Config{}).Engine
	h := Handler(locks)
	for _, name := range []string{"<script>alert(1)</script>", "two\nlines", "not \xff UTF-8", "{{.}}", strings.Repeat("x", 512)} {
		lock, err := locks.Acquire(t.Context(), name, 30*time.Second)
		require.NoError(t, err)
		text := get(t, h, "/", "text/html; charset=utf-8")
		require.NotContains(t, text, "<script")
		require.Equal(t, inside.Shown(name), pageOf(t, h).Held[0].Name)
		require.NoError(t, lock.Release(t.Context()))
	}
	require.Contains(t, get(t, h, "/", "text/html; charset=utf-8"), "&lt;script&gt;")
}

func TestThePageIsBounded(t *testing.T) {
	locks := enginetest.New(t, engine.Config{}).Engine
	var names []string
	for i := range most + 5 {
		names = append(names, fmt.Sprint("n", i))
	}
	var held []*engine.Lock
	for _, r := range locks.AcquireMany(t.Context(), names, 30*time.Second) {
		require.NoError(t, r.Err)
		held = append(held, r.Lock)
	}
	p := pageOf(t, Handler(locks))
	require.Equal(t, []int{most, most + 5}, []int{len(p.Held), p.HeldAll})
	require.Contains(t, get(t, Handler(locks), "/", "text/html; charset=utf-8"), "1000 of 1005")
	require.Nil(t, locks.ReleaseMany(t.Context(), held))
}

func TestRequestsThatComeAtOnceShareASnapshot(t *testing.T) {
	locks := enginetest.New(t, engine.Config{}).Engine
	snapshots := atomic.Int64{}
	synctest.Test(t, func(t *testing.T) {
		goOn, of := make(chan struct{}), inside.Of
		defer func() { inside.Of = of }()
		inside.Of = func(e any) inside.Engine {
			snapshots.Add(1)
			<-goOn
			return of(e)
		}
		h, want := Handler(locks), 0
		for want = range 100 {
			go get(t, h, "/?format=json", "application/json")
		}
		synctest.Wait()
		require.EqualValues(t, 1, snapshots.Load(), "%d asked", want+1)
		close(goOn)
		synctest.Wait()
		get(t, h, "/?format=json", "application/json")
		require.EqualValues(t, 2, snapshots.Load(), "none is kept")
	})
}

func TestOtherRequestsAreRefused(t *testing.T) {
	h := Handler(enginetest.New(t, engine.Config{}).Engine)
	for request, want := range map[string]int{"GET /?format=xml": http.StatusBadRequest, "HEAD /": http.StatusOK} {
		method, path, _ := strings.Cut(request, " ")
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(method, path, nil))
		require.Equal(t, want, w.Code, request)
	}
}
