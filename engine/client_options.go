package engine

import (
	"net"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/redis/rueidis"

	"muxlock/internal/address"
	"muxlock/pipeline"
)

// allowedInTemplate names the fields of rueidis.ClientOption that Config.Client may set. Every other field,
// present or future, is refused until somebody has checked it against the rules of the lock.
var allowedInTemplate = []string{
	"TLSConfig", "DialCtxFn", "AuthCredentialsFn", "Dialer",
	"Username", "Password", "ClientName", "ClientSetInfo", "SelectDB",
	"ClientNoTouch", "ClientNoEvict", "AlwaysRESP2",
}

// allowedInDialer names the fields of Config.Client.Dialer that may be set. Timeout follows from
// MasterTimeout, and the engine tries idle connections itself. Deadline and Cancel would end all reconnecting
// for good, at a moment or by a signal.
var allowedInDialer = []string{"LocalAddr", "DualStack", "FallbackDelay", "KeepAliveConfig", "Resolver", "Control", "ControlContext"}

// checkTemplate refuses a field that the engine sets itself, or that would send commands to another server,
// twice, or out of order.
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
	return checkSelection("Client", option)
}

// checkSelection refuses what no server accepts.
func checkSelection(of string, option rueidis.ClientOption) error {
	switch {
	case option.SelectDB < 0:
		return invalid(of+".SelectDB", "%d is negative", option.SelectDB)
	case strings.ContainsFunc(option.ClientName, func(r rune) bool { return r < '!' || r > '~' }):
		return invalid(of+".ClientName", "%q has other characters than those from ! to ~", option.ClientName)
	}
	return nil
}

// parseMasters turns Config.Masters into connection options.
func parseMasters(addresses []string, template rueidis.ClientOption) ([]pipeline.Master, error) {
	seen := make(map[string]int)
	var masters []pipeline.Master
	for i, text := range addresses {
		field := "Masters[" + strconv.Itoa(i) + "]"
		option, err := address.Parse(text, template)
		if err != nil {
			return nil, invalid(field, "%v", err)
		}
		if err := checkSelection(field, option); err != nil {
			return nil, err
		}
		at, server := option.InitAddress[0], address.Server(option)
		if first, ok := seen[server]; ok {
			return nil, invalid(field, "is the same server as Masters[%d]: %s", first, at)
		}
		seen[server] = i
		masters = append(masters, pipeline.Master{Address: at, Option: option})
	}
	return masters, nil
}
