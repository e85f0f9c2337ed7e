package engine_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"time"

	"muxlock/engine"
)

// ship waits for its lock for a moment. Its work may take as long as the client stays.
func ship(locks *engine.Engine) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		ctx := engine.WithWait(r.Context(), 300*time.Millisecond)
		err := locks.Do(ctx, "order/"+r.PathValue("id"), 10*time.Second, send)
		switch notAcquired := errors.Is(err, engine.ErrNotAcquired); {
		case err == nil:
			w.WriteHeader(http.StatusNoContent)
		case notAcquired && errors.Is(err, engine.ErrTaken):
			http.Error(w, "somebody else is at this order", http.StatusConflict)
		case errors.Is(err, engine.ErrOverloaded):
			http.Error(w, "too many requests", http.StatusTooManyRequests)
		case notAcquired: // too few masters answer
			http.Error(w, "try again later", http.StatusServiceUnavailable)
		default: // of send, or the lock was lost meanwhile
			http.Error(w, "the order may have been shipped", http.StatusInternalServerError)
		}
	}
}

func ExampleWithWait() {
	locks := onMastersOfThisProcess() // yours is from engine.New
	defer locks.Close()
	http.Handle("POST /orders/{id}/ship", ship(locks))

	ask := func() int {
		answer := httptest.NewRecorder()
		http.DefaultServeMux.ServeHTTP(answer, httptest.NewRequest("POST", "/orders/42/ship", nil))
		return answer.Code
	}
	other, err := locks.Acquire(context.Background(), "order/42", 10*time.Second)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(ask())
	_ = other.Release(context.Background())
	fmt.Println(ask())
	// Output:
	// 409
	// 204
}
