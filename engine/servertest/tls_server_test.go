package servertest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"muxlock/engine"
	"muxlock/internal/redisserver"
	"muxlock/internal/testing/await"
	"muxlock/internal/testing/redistest"
)

// certificate writes a certificate of 127.0.0.1 and its key, and returns who trusts it.
func certificate(t *testing.T) (cert, key string, roots *x509.CertPool) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), IsCA: true, BasicConstraintsValid: true,
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, NotAfter: time.Now().Add(time.Hour),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	require.NoError(t, err)
	keyDER, err := x509.MarshalECPrivateKey(private)
	require.NoError(t, err)
	write := func(name, kind string, bytes []byte) string {
		path := filepath.Join(t.TempDir(), name)
		require.NoError(t, os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: bytes}), 0o600))
		return path
	}
	roots = x509.NewCertPool()
	parsed, err := x509.ParseCertificate(der)
	require.NoError(t, err)
	roots.AddCert(parsed)
	return write("cert", "CERTIFICATE", der), write("key", "EC PRIVATE KEY", keyDER), roots
}

func TestAddressOfTheWrongKindSaysWhetherThePortSpeaksTLS(t *testing.T) {
	cert, key, roots := certificate(t)
	free, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	port := free.Addr().(*net.TCPAddr).Port
	require.NoError(t, free.Close())
	plain := redistest.MastersWith(t, 1, redisserver.Options{Args: []string{
		"--tls-port", strconv.Itoa(port), "--tls-cert-file", cert, "--tls-key-file", key, "--tls-auth-clients", "no"}})[0].Addr()
	secured := net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
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
