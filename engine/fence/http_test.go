package fence_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"muxlock/engine/fence"
)

// path names the resource of a request.
func path(r *http.Request) string { return r.URL.Path }

// ask sends a request with the values as its headers and returns the answer.
func ask(h http.Handler, path string, values ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodPut, path, nil)
	r.Header[fence.Header] = values
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// server answers 200 behind the middleware, with names as its bound.
func server(names int) http.Handler {
	return fence.Middleware(fence.NewMemory(names), path)(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
}

func TestServerRefusesRequestsOfOlderHolders(t *testing.T) {
	s := server(2)
	for _, step := range []struct {
		path, fence string
		code        int
	}{
		{"/a", "3", 200}, {"/a", "3", 200}, {"/a", "7", 200}, {"/a", "3", 412}, {"/a", "7", 200},
		{"/b", "3", 200}, // of another resource
		{"/b", "2", 412}, {"/a", "9007199254740991", 200}, {"/a", "9007199254740990", 412},
	} {
		require.Equal(t, step.code, ask(s, step.path, step.fence).Code, "%+v", step)
	}
	require.Equal(t, "fence: stale: 2 came, 3 was seen\n", ask(s, "/b", "2").Body.String())
}

func TestServerRefusesRequestsWithoutAFence(t *testing.T) {
	s := server(1)
	require.Equal(t, 428, ask(s, "/").Code)
	for _, values := range [][]string{{""}, {"0"}, {"three"}, {"-1"}, {"+1"}, {"1.0"}, {"1e3"}, {"0x1"}, {"1, 2"}, {"1", "1"},
		{"9007199254740992"}, {"18446744073709551615"}, {"18446744073709551617"}} {
		w := ask(s, "/", values...)
		require.Equal(t, 400, w.Code, "%q", values)
		require.Contains(t, w.Body.String(), "fence: invalid: ")
		_, err := fence.FromHeader(http.Header{fence.Header: values})
		require.ErrorIs(t, err, fence.ErrInvalid, "%q", values)
	}
	require.Equal(t, 200, ask(s, "/", "1").Code, "none of them was kept")
}

func TestServerTakesNoNameBeyondItsBoundAndForgetsNone(t *testing.T) {
	store := fence.NewMemory(2)
	s := fence.Middleware(store, path)(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	require.Equal(t, 200, ask(s, "/a", "5").Code)
	require.Equal(t, 200, ask(s, "/b", "5").Code)
	w := ask(s, "/c", "5")
	require.Equal(t, 503, w.Code)
	require.Equal(t, "fence: not checked\n", w.Body.String())
	_, err := store.Seal(t.Context(), "/c", 5)
	require.ErrorIs(t, err, fence.ErrFull)
	require.Equal(t, 412, ask(s, "/a", "4").Code)
	require.Equal(t, 200, ask(s, "/b", "5").Code)
	_, err = fence.NewMemory(0).Seal(t.Context(), "/a", 1)
	require.ErrorIs(t, err, fence.ErrFull)
}

func TestMemoryRefusesWhatIsNoFence(t *testing.T) {
	m := fence.NewMemory(1)
	for _, number := range noFences {
		_, err := m.Seal(t.Context(), "a", number)
		require.ErrorIs(t, err, fence.ErrInvalid)
	}
	release, err := m.Seal(t.Context(), "b", 1)
	require.NoError(t, err, "no room was taken")
	release()
}

func TestTheEndOfCtxEndsAWaitAndTakesNoRoom(t *testing.T) {
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for range 50 {
		m := fence.NewMemory(1)
		release, err := m.Seal(ended, "a", 3)
		require.NoError(t, err, "nobody has the name: there is nothing to wait for")
		_, err = m.Seal(ended, "a", 4)
		require.ErrorIs(t, err, context.Canceled)
		release()
		release, err = m.Seal(t.Context(), "a", 3)
		require.NoError(t, err, "4 was not kept")
		release()
	}
}

// A request that passed and was paused must be over before a newer holder reads.
func TestNewerHolderWaitsForTheRequestOfAnOlderOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var order []string
		paused := make(chan struct{})
		s := fence.Middleware(fence.NewMemory(2), path)(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			number := r.Header.Get(fence.Header)
			if order = append(order, number+" begins"); number == "3" {
				<-paused
			}
			order = append(order, number+" ends")
		}))
		go ask(s, "/a", "3")
		synctest.Wait()
		go ask(s, "/a", "4")
		synctest.Wait()
		require.Equal(t, []string{"3 begins"}, order)

		ctx, cancel := context.WithCancel(t.Context())
		gone := httptest.NewRecorder()
		r := httptest.NewRequest(http.MethodPut, "/a", nil).WithContext(ctx)
		require.NoError(t, fence.SetHeader(r, 5))
		go s.ServeHTTP(gone, r)
		synctest.Wait()
		cancel()
		synctest.Wait()
		require.Equal(t, 503, gone.Code, "waits no longer than its client")

		require.Equal(t, 200, ask(s, "/b", "1").Code, "another resource does not wait")
		close(paused)
		synctest.Wait()
		require.Equal(t, []string{"3 begins", "1 begins", "1 ends", "3 ends", "4 begins", "4 ends"}, order)
		require.Equal(t, 412, ask(s, "/a", "3").Code)
		require.Equal(t, 200, ask(s, "/a", "4").Code, "5 was never kept")
	})
}

func TestHandlerThatPanicsGivesTheNameBack(t *testing.T) {
	panics := true
	s := fence.Middleware(fence.NewMemory(1), path)(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		if panics {
			panic(http.ErrAbortHandler)
		}
	}))
	require.Panics(t, func() { ask(s, "/", "2") })
	panics = false
	require.Equal(t, 200, ask(s, "/", "2").Code)
}

func TestConcurrentRequestsNeverPassAfterANewerOne(t *testing.T) {
	const names, requests = 10, 1000
	var last [names]int // each races unless the middleware excludes
	s := fence.Middleware(fence.NewMemory(names), path)(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		number, err := fence.FromHeader(r.Header)
		name := r.URL.Path[1] - '0'
		if int(number) < last[name] || err != nil {
			t.Errorf("%d after %d: %v", number, last[name], err)
		}
		last[name] = int(number)
	}))
	var all sync.WaitGroup
	for i := range requests {
		all.Go(func() { ask(s, fmt.Sprint("/", i%names), fmt.Sprint(1+i*37%requests)) })
	}
	all.Wait()
	for name, number := range last {
		require.Equal(t, 1+(requests-names)+name*37%names, number, name)
	}
}

func TestSetHeaderSetsOneFenceAndNothingElse(t *testing.T) {
	r := httptest.NewRequest(http.MethodPut, "/", nil)
	for _, number := range []uint64{1, 7, fence.Max} {
		require.NoError(t, fence.SetHeader(r, number))
		got, err := fence.FromHeader(r.Header)
		require.NoError(t, err)
		require.Equal(t, number, got)
	}
	for _, number := range noFences {
		require.ErrorIs(t, fence.SetHeader(r, number), fence.ErrInvalid)
		require.Equal(t, "9007199254740991", r.Header.Get(fence.Header))
	}
}

func TestWriteErrorHidesWhatItDoesNotKnow(t *testing.T) {
	for err, code := range map[error]int{
		fmt.Errorf("on a: %w", fence.ErrStale): 412, fence.ErrInvalid: 400, fence.ErrNoHeader: 428, errors.New("secret"): 503,
	} {
		w := httptest.NewRecorder()
		fence.WriteError(w, err)
		require.Equal(t, code, w.Code)
		require.Equal(t, code != 503, strings.Contains(w.Body.String(), err.Error()))
	}
}

func TestARequestWithoutAHeaderGetsOne(t *testing.T) {
	var r http.Request
	require.ErrorIs(t, fence.SetHeader(&r, 0), fence.ErrInvalid)
	require.Nil(t, r.Header)
	require.NoError(t, fence.SetHeader(&r, 7))
	require.Equal(t, []string{"7"}, r.Header.Values(fence.Header))
}
