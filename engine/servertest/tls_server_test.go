package servertest

import (
	"crypto/tls"
	"crypto/x509"
	"strings"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"muxlock/engine"
	"muxlock/internal/testing/await"
	"muxlock/internal/testing/redistest"
)

func TestAddressOfTheWrongKindSaysWhetherThePortSpeaksTLS(t *testing.T) {
	cert, key, roots := redistest.Certificate(t)
	plain, secured := redistest.Secured(t, "--tls-cert-file", cert, "--tls-key-file", key, "--tls-auth-clients", "no")
	open := func(address string, pool *x509.CertPool) error {
		e, err := engine.New(t.Context(), engine.Config{
			Masters: []string{address}, MastersAreNew: true, MasterTimeout: await.Patience,
			Client: rueidis.ClientOption{TLSConfig: map[bool]*tls.Config{true: {RootCAs: pool}}[pool != nil]},
		})
		if err == nil {
			cycle(t, e, t.Name())
			require.NoError(t, e.Close())
		}
		return err
	}
	require.NoError(t, open("rediss://"+secured, roots))
	require.NoError(t, open(secured, roots), "the template's TLSConfig suffices")
	require.NoError(t, open("redis://"+plain, nil))

	says := func(address string, pool *x509.CertPool, what string) { // New may end before the handshake where a machine stands still
		await.Within(t, time.Minute, func() bool { return strings.Contains(open(address, pool).Error(), what) }, what)
	}
	says("rediss://"+plain, roots, "is it a port without TLS?")
	says("redis://"+secured, nil, "is it a port with TLS?")
	untrusted := open("rediss://"+secured, x509.NewCertPool())
	require.ErrorContains(t, untrusted, "TLS handshake: tls: failed to verify certificate")
	require.ErrorContains(t, untrusted, "RootCAs must trust its authority")
	require.ErrorIs(t, untrusted, engine.ErrInvalid, "it does not get better by waiting")
}
