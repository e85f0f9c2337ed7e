package engine

import (
	"crypto/tls"
	"fmt"
	"net"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/redis/rueidis"

	"muxlock/pipeline"
)

// allowedInTemplate names the fields of rueidis.ClientOption that Config.Client may
// set. Whatever else rueidis has, or will have, is refused until somebody has looked
// at what it does to the rules of the lock.
var allowedInTemplate = []string{
	"TLSConfig", "DialCtxFn", "AuthCredentialsFn", "Dialer",
	"Username", "Password", "ClientName", "ClientSetInfo", "SelectDB",
	"ClientNoTouch", "ClientNoEvict", "AlwaysRESP2",
}

// allowedInDialer names the fields of Config.Client.Dialer that may be set. Timeout follows
// from MasterTimeout, and the engine tries idle connections itself; Deadline and Cancel
// would end all reconnecting for good, at a moment or by a signal.
var allowedInDialer = []string{"LocalAddr", "DualStack", "FallbackDelay", "KeepAliveConfig", "Resolver", "Control", "ControlContext"}

// checkTemplate refuses a template that sets what the engine sets, or what would
// send commands to another server, twice, or out of order.
func checkTemplate(option rueidis.ClientOption) error {
	v := reflect.ValueOf(option)
	for i := range v.NumField() {
		field := v.Type().Field(i).Name
		if !v.Field(i).IsZero() && !slices.Contains(allowedInTemplate, field) {
			return invalid("Client."+field, "must not be set: the engine sets it, or it would void a rule of the lock")
		}
	}
	v = reflect.ValueOf(option.Dialer)
	for i := range v.NumField() {
		field := v.Type().Field(i)
		if field.IsExported() && !v.Field(i).IsZero() && !slices.Contains(allowedInDialer, field.Name) {
			return invalid("Client.Dialer."+field.Name, "must not be set: the engine sets it, or it would end all reconnecting")
		}
	}
	if local, ok := option.Dialer.LocalAddr.(*net.TCPAddr); ok && local.Port != 0 {
		return invalid("Client.Dialer.LocalAddr", "must not have a port: no second connection could be opened")
	}
	return nil
}

// parseMasters turns Config.Masters into connection options.
func parseMasters(addresses []string, template rueidis.ClientOption) ([]pipeline.Master, error) {
	seen := make(map[string]int)
	var masters []pipeline.Master
	for i, address := range addresses {
		field := "Masters[" + strconv.Itoa(i) + "]"
		m, err := parseMaster(address, template)
		if err != nil {
			return nil, invalid(field, "%v", err)
		}
		key := m.Option.InitAddress[0]
		if !strings.HasPrefix(key, "/") { // the path of a socket is case-sensitive
			key = strings.ToLower(key)
		}
		if first, ok := seen[key]; ok {
			return nil, invalid(field, "is the same server as Masters[%d]: %s", first, m.Address)
		}
		seen[key] = i
		masters = append(masters, m)
	}
	return masters, nil
}

func parseMaster(address string, template rueidis.ClientOption) (pipeline.Master, error) {
	option := template
	if !strings.Contains(address, "://") {
		if err := checkHostPort(address); err != nil {
			return pipeline.Master{}, err
		}
		option.InitAddress = []string{address}
		return pipeline.Master{Address: address, Option: option}, nil
	}
	u, err := url.Parse(address)
	if err != nil {
		return pipeline.Master{}, errURL
	}
	for parameter := range u.Query() {
		if parameter != "db" && parameter != "client_name" && parameter != "skip_verify" {
			return pipeline.Master{}, fmt.Errorf("URL parameter %q is not supported", parameter)
		}
	}
	from, err := rueidis.ParseURL(address)
	switch {
	case err != nil && strings.Contains(u.Path, "@"):
		return pipeline.Master{}, errURL // the path is a password that has a slash in it
	case err != nil:
		return pipeline.Master{}, err
	}
	option.InitAddress = from.InitAddress
	if u.Scheme == "unix" {
		if from.InitAddress[0] == "" {
			return pipeline.Master{}, fmt.Errorf("unix:// needs the path of a socket")
		}
		if option.DialCtxFn == nil {
			option.DialCtxFn = from.DialCtxFn
		}
	} else if err := checkHostPort(from.InitAddress[0]); err != nil {
		return pipeline.Master{}, err
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
	return pipeline.Master{Address: from.InitAddress[0], Option: option}, nil
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
