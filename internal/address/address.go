// Package address reads the addresses of masters, for the engine and for whatever else
// connects to them.
package address

import (
	"crypto/tls"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"

	"github.com/redis/rueidis"
)

// Parse returns the template with what the address of a master says: host:port, or a URL with
// redis, rediss or unix and, in it, user, password and database. Parts of a URL override the
// template. No error repeats a password.
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
	if err != nil {
		return option, errURL
	}
	for parameter := range u.Query() {
		if parameter != "db" && parameter != "client_name" && parameter != "skip_verify" {
			return option, fmt.Errorf("URL parameter %q is not supported", parameter)
		}
	}
	from, err := rueidis.ParseURL(address)
	switch {
	case err != nil && strings.Contains(u.Path, "@"):
		return option, errURL // the path is a password that has a slash in it
	case err != nil:
		return option, err
	}
	option.InitAddress = from.InitAddress
	if u.Scheme == "unix" {
		if from.InitAddress[0] == "" {
			return option, fmt.Errorf("unix:// needs the path of a socket")
		}
		if option.DialCtxFn == nil {
			option.DialCtxFn = from.DialCtxFn
		}
	} else if err := checkHostPort(from.InitAddress[0]); err != nil {
		return option, err
	}
	if from.TLSConfig != nil {
		option.TLSConfig = mergeTLS(template.TLSConfig, from.TLSConfig)
	}
	if u.User != nil {
		option.Username, option.Password, option.AuthCredentialsFn = from.Username, from.Password, nil
	}
	if from.SelectDB != 0 || u.Scheme != "unix" && strings.Trim(u.Path, "/") != "" || u.Query().Has("db") {
		option.SelectDB = from.SelectDB
	}
	if from.ClientName != "" {
		option.ClientName = from.ClientName
	}
	return option, nil
}

// Server is equal for two addresses of one server.
func Server(option rueidis.ClientOption) string {
	at := option.InitAddress[0]
	if strings.HasPrefix(at, "/") { // the path of a socket is case-sensitive
		return at
	}
	return strings.ToLower(at)
}

// errURL leaves out url.Parse's text, which may quote a password.
var errURL = fmt.Errorf("is not a URL")

func checkHostPort(address string) error {
	if strings.Contains(address, "@") {
		return errURL // credentials without a scheme; not to be repeated
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

// mergeTLS keeps the template's certificates and adds what the URL asks for.
func mergeTLS(template, from *tls.Config) *tls.Config {
	if template == nil {
		return from
	}
	merged := template.Clone()
	if merged.ServerName == "" {
		merged.ServerName = from.ServerName
	}
	if from.InsecureSkipVerify {
		merged.InsecureSkipVerify = true
	}
	return merged
}
