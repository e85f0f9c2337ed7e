// Package address parses the addresses of masters, and dials them as rueidis does.
package address

import (
	"cmp"
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"

	"github.com/redis/rueidis"
)

// Parse applies the address of a master to the template. The address is host:port or a redis, rediss or unix URL. User,
// password and database of a URL override the template's. No error repeats a password.
func Parse(address string, template rueidis.ClientOption) (rueidis.ClientOption, error) {
	option := template
	if !strings.Contains(address, "://") {
		if err := checkHostPort(address); err != nil {
			return option, err
		}
		option.InitAddress = []string{address}
		return option, nil
	}
	u, err := url.Parse(address)
	if err != nil || strings.Contains(address, "#") || strings.Contains(u.RawQuery, "@") {
		return option, errURL // the latter: what looks like a fragment or parameters is a password
	}
	for parameter := range u.Query() {
		if parameter != "db" && parameter != "client_name" && parameter != "skip_verify" {
			return option, fmt.Errorf("has a URL parameter other than db, client_name and skip_verify")
		}
	}
	verifyIsSet := u.Query().Has("skip_verify")
	if verifyIsSet && u.Scheme != "rediss" {
		return option, fmt.Errorf("has skip_verify, but no TLS: that is rediss://")
	}
	from, err := rueidis.ParseURL(address)
	switch {
	case err != nil && strings.Contains(u.Path, "@"):
		return option, errURL // what looks like a path is a password with a slash
	case err != nil:
		return option, err
	}
	option.InitAddress = from.InitAddress
	if u.Scheme == "unix" {
		if from.InitAddress[0] == "" || u.Host != "" {
			return option, fmt.Errorf("unix:// needs the path of a socket")
		}
		if option.DialCtxFn == nil {
			option.DialCtxFn = from.DialCtxFn
		}
	} else if err := checkHostPort(from.InitAddress[0]); err != nil {
		return option, err
	}
	if from.TLSConfig != nil {
		option.TLSConfig = mergeTLS(template.TLSConfig, from.TLSConfig, verifyIsSet)
	}
	if u.User != nil {
		option.Username, option.AuthCredentialsFn = from.Username, nil
		if _, set := u.User.Password(); set {
			option.Password = from.Password
		}
	}
	if from.SelectDB != 0 || u.Scheme != "unix" && strings.Trim(u.Path, "/") != "" || u.Query().Has("db") {
		option.SelectDB = from.SelectDB
	}
	if from.ClientName != "" {
		option.ClientName = from.ClientName
	}
	return option, nil
}

// Dial is rueidis's own DialCtxFn.
func Dial(ctx context.Context, address string, d *net.Dialer, t *tls.Config) (net.Conn, error) {
	if t != nil {
		return (&tls.Dialer{NetDialer: d, Config: t}).DialContext(ctx, "tcp", address)
	}
	return d.DialContext(ctx, "tcp", address)
}

// Server returns the same text for two spellings of one address.
func Server(option rueidis.ClientOption) string {
	at := option.InitAddress[0]
	if strings.HasPrefix(at, "/") { // the path of a socket is case-sensitive
		return at
	}
	return strings.ToLower(at)
}

// errURL replaces url.Parse's error, which may quote a password.
var errURL = fmt.Errorf("is not a URL")

func checkHostPort(address string) error {
	if strings.Contains(address, "@") {
		return errURL // an address with credentials but no scheme; do not repeat them
	}
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return fmt.Errorf("%q is not host:port", address)
	}
	if n, err := strconv.Atoi(port); err != nil || n < 1 || n > 65535 || host == "" {
		return fmt.Errorf("%q is not host:port", address)
	}
	return nil
}

// mergeTLS keeps the template's certificates and adds the URL's settings.
func mergeTLS(template, from *tls.Config, verifyIsSet bool) *tls.Config {
	if template == nil {
		return from
	}
	merged := template.Clone()
	merged.ServerName = cmp.Or(merged.ServerName, from.ServerName)
	if verifyIsSet {
		merged.InsecureSkipVerify = from.InsecureSkipVerify
	}
	return merged
}
