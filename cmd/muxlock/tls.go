package main

import (
	"crypto/tls"
	"crypto/x509"
	"os"

	"muxlock/internal/usage"
)

// tlsFiles are the files of --tls-ca, --tls-cert and --tls-key. A rediss:// URL needs none of them.
type tlsFiles struct{ ca, cert, key string }

// config returns nil if no file is given.
func (f tlsFiles) config() (*tls.Config, error) {
	if f == (tlsFiles{}) {
		return nil, nil
	}
	c := &tls.Config{MinVersion: tls.VersionTLS12}
	if f.ca != "" {
		text, err := os.ReadFile(f.ca)
		if err != nil {
			return nil, usage.Errorf("--tls-ca: %w", err)
		}
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(text) {
			return nil, usage.Errorf("--tls-ca: %s has no certificate", f.ca)
		}
	}
	if (f.cert == "") != (f.key == "") {
		return nil, usage.Errorf("--tls-cert and --tls-key need each other")
	}
	if f.cert != "" {
		pair, err := tls.LoadX509KeyPair(f.cert, f.key)
		if err != nil {
			return nil, usage.Errorf("--tls-cert, --tls-key: %w", err)
		}
		c.Certificates = []tls.Certificate{pair}
	}
	return c, nil
}
