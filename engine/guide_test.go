package engine_test

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"muxlock/engine"
	"muxlock/engine/enginetest"
)

// The handler and this test are in the guide, README.md.
func TestShip(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // leases and timeouts take no time
		locks := enginetest.New(t, engine.Config{})
		ask := func() int {
			answer, request := httptest.NewRecorder(), httptest.NewRequest("POST", "/orders/42/ship", nil)
			request.SetPathValue("id", "42")
			ship(locks.Engine)(answer, request)
			return answer.Code
		}
		require.Equal(t, http.StatusNoContent, ask())
		locks.Refuse("order/42") // somebody has it
		require.Equal(t, http.StatusConflict, ask())
		locks.Heal()
		locks.NoQuorum() // a majority of the masters is down
		require.Equal(t, http.StatusServiceUnavailable, ask())
	})
}
