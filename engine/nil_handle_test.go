package engine

import (
	"context"
	"fmt"
	"log/slog"
	"reflect"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// A deferred Release may run before its caller has looked at the error of Acquire.
func TestEveryMethodOfANilLockOrSetReturnsAsForOneThatIsNotHeld(t *testing.T) {
	for _, nothing := range []any{(*Lock)(nil), (*Set)(nil)} {
		v := reflect.ValueOf(nothing)
		for i := range v.NumMethod() {
			name := v.Type().Method(i).Name
			if name == "Format" { // fmt prints <nil>
				require.NotContains(t, fmt.Sprint(nothing), "PANIC")
				continue
			}
			var args []reflect.Value
			for k := range v.Method(i).Type().NumIn() {
				switch in := v.Method(i).Type().In(k); {
				case in == reflect.TypeFor[context.Context]():
					args = append(args, reflect.ValueOf(t.Context()))
				case in == reflect.TypeFor[time.Duration]():
					args = append(args, reflect.ValueOf(48*time.Hour)) // longer than any MaxTTL
				default:
					args = append(args, reflect.Zero(in))
				}
			}
			for _, got := range v.Method(i).Call(args) {
				switch got := got.Interface().(type) {
				case error:
					require.Equal(t, ErrNotHeld, got, name)
				case <-chan struct{}:
					<-got
				case context.Context:
					<-got.Done()
					require.ErrorIs(t, context.Cause(got), ErrNotHeld, name)
				case context.CancelFunc:
					got()
				case slog.Value:
					require.Contains(t, fmt.Sprint(got), "until=0001", name)
				case int:
					require.LessOrEqual(t, got, 0, name) // Slot is -1
				default:
					require.Zero(t, got, name)
				}
			}
		}
	}
}

// What a nil lock shares must belong to no bubble.
func TestANilLockServesSeveralBubbles(t *testing.T) {
	for range 2 {
		synctest.Test(t, func(t *testing.T) {
			var lock *Lock
			var set *Set
			<-lock.Done()
			<-set.Done()
			during, cancel := set.Context(t.Context())
			defer cancel()
			<-during.Done()
			require.ErrorIs(t, lock.Release(t.Context()), ErrNotHeld)
		})
	}
}
