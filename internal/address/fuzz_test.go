package address

import (
	"testing"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"
)

// Whatever stands in a list of masters: no panic, and no password in the error or in the
// address that errors and statistics show.
func FuzzAddressIsParsedOrRefusedWithoutItsPassword(f *testing.F) {
	for _, a := range []string{"127.0.0.1:6379", "[::1]:1", "redis://u:%s@h:1/2", "unix:///tmp/%s", "u:%s@h:1", "rediss://h?skip_verify", "redis://u:/%s@h"} {
		f.Add(a)
	}
	f.Fuzz(func(t *testing.T, address string) {
		option, err := Parse(address, rueidis.ClientOption{})
		if err == nil {
			require.Len(t, option.InitAddress, 1)
			require.NotEmpty(t, option.InitAddress[0])
			return
		}
		const secret = "hunter2-of-the-fuzzer"
		_, err = Parse("redis://user:"+secret+"@"+address, rueidis.ClientOption{})
		if err != nil {
			require.NotContains(t, err.Error(), secret)
		}
	})
}
