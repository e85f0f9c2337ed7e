package probe

import (
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"muxlock/engine/admin"
	"muxlock/internal/redisserver"
	"muxlock/internal/testing/redistest"
)

func TestMastersThatAnswerAreJudgedAndOthersLeftOut(t *testing.T) {
	server := redistest.MastersWith(t, 1, redisserver.Options{Password: "pa55"})[0].Addr()
	timeless := redistest.MastersWith(t, 1, redisserver.Options{})[0]
	redistest.Command(t, timeless, "ACL", "SETUSER", "timeless", "on", ">secret", "+@all", "-time")
	addrs := []string{server, "redis://timeless:secret@" + timeless.Addr(), "redis://timeless:wrong@" + timeless.Addr()}
	all, found, err := Watch(t.Context(), addrs, rueidis.ClientOption{Password: "pa55"}, 300*time.Millisecond)
	require.NoError(t, err)
	for i, addr := range []string{server, timeless.Addr(), timeless.Addr()} {
		require.Equal(t, addr, all[i].Addr)
		require.Equal(t, i < 2, all[i].RTT.Count > 0)
		require.Equal(t, i == 2, all[i].Lost > 0)
	}
	require.Nil(t, all[1].Clock)
	require.Len(t, found, 4)
	require.Equal(t, admin.Finding{Level: admin.LevelUnknown, Check: "clock", Masters: []int{2}, Text: "not known: TIME is not permitted, or too few answers"}, found[3])
	_, _, err = Watch(t.Context(), []string{"a:1", "here"}, rueidis.ClientOption{}, time.Hour)
	require.ErrorContains(t, err, `master 2: "here"`)
}
