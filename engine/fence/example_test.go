package fence_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/redis/rueidis"

	"muxlock/engine/fence"
)

// A document on a server: the first holder is paused after it has read, the second one follows.
func ExampleMiddleware() {
	document := "draft"
	fenced := fence.Middleware(fence.NewMemory(10_000), func(r *http.Request) string { return r.URL.Path })
	server := httptest.NewServer(fenced(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPut {
			body, _ := io.ReadAll(r.Body)
			document = string(body)
		}
		fmt.Fprint(w, document)
	})))
	defer server.Close()

	ask := func(method, body string, number uint64) string { // number is lock.Fence()
		r, _ := http.NewRequest(method, server.URL+"/report", strings.NewReader(body))
		if err := fence.SetHeader(r, number); err != nil {
			return err.Error()
		}
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			return err.Error()
		}
		defer answer.Body.Close()
		text, _ := io.ReadAll(answer.Body)
		return answer.Status + ": " + strings.TrimSpace(string(text))
	}
	fmt.Println(ask("GET", "", 3))
	fmt.Println(ask("GET", "", 4)) // the next holder; its first request seals
	fmt.Println(ask("PUT", "of the first", 3))
	fmt.Println(ask("PUT", "of the second", 4))
	fmt.Println(ask("PUT", "without fencing", 0))
	// Output:
	// 200 OK: draft
	// 200 OK: draft
	// 412 Precondition Failed: fence: stale: 3 came, 4 was seen
	// 200 OK: of the second
	// fence: invalid: 0 is not from 1 to 2^53-1
}

// A server for a half-upgraded fleet: requests without a fence go past Middleware, since it would refuse them.
func ExampleFromHeader() {
	handler := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "done") })
	fenced := fence.Middleware(fence.NewMemory(10_000), func(r *http.Request) string { return r.URL.Path })(handler)
	both := func(w http.ResponseWriter, r *http.Request) {
		if _, err := fence.FromHeader(r.Header); errors.Is(err, fence.ErrNoHeader) {
			handler(w, r) // count these: when none comes any more, mount fenced alone
			return
		}
		fenced.ServeHTTP(w, r)
	}

	for _, number := range []uint64{4, 3, 0} { // lock.Fence() is 0 without fencing
		r, w := httptest.NewRequest(http.MethodPut, "/report", nil), httptest.NewRecorder()
		if number != 0 {
			_ = fence.SetHeader(r, number)
		}
		both(w, r)
		fmt.Println(w.Code, strings.TrimSpace(w.Body.String()))
	}
	// Output:
	// 200 done
	// 412 fence: stale: 3 came, 4 was seen
	// 200 done
}

// A counter in Redis: the first holder is paused after it has read, the second one follows.
func ExampleValue() {
	ctx := context.Background()
	script := rueidis.NewLuaScript(fence.Script) // EVALSHA, and EVAL where Redis does not have it
	counter := fence.Value{Key: "counter", Run: func(ctx context.Context, keys, args []string) ([]string, error) {
		return script.Exec(ctx, client, keys, args).AsStrSlice()
	}}
	defer client.Do(ctx, client.B().Del().Key("counter").Build())
	_ = counter.Set(ctx, 2, "10")

	first, _ := counter.Seal(ctx, 3) // the number is lock.Fence()
	second, _ := counter.Seal(ctx, 4)
	fmt.Println("both read", first, second)
	err := counter.Set(ctx, 3, "11")
	fmt.Println(err, errors.Is(err, fence.ErrStale))
	fmt.Println(counter.Set(ctx, 4, "11"))
	// Output:
	// both read 10 10
	// fence: stale: 3 came, 4 was seen true
	// <nil>
}
