package pipeline

import (
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"muxlock/internal/redisserver"
	"muxlock/internal/testing/faultconn"
)

// overServers starts a pipeline over real servers, each behind a link.
func overServers(t testing.TB, servers []*redisserver.Server, timeout time.Duration) (*Pipeline, []*faultconn.Link) {
	t.Helper()
	cfg := Config{Timeout: timeout, Queue: 1 << 14}
	var links []*faultconn.Link
	for _, s := range servers {
		link := faultconn.NewLink()
		links = append(links, link)
		cfg.Masters = append(cfg.Masters, Master{Address: s.Addr(), Option: rueidis.ClientOption{InitAddress: []string{s.Addr()}, DialCtxFn: link.Dial}})
	}
	p, err := New(t.Context(), cfg)
	require.NoError(t, err)
	t.Cleanup(p.Close)
	return p, links
}
