package engine

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net"
	"reflect"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"
)

// anything returns a value of type t that is not its zero value.
func anything(t *testing.T, of reflect.Type) reflect.Value {
	v := reflect.New(of).Elem()
	switch of.Kind() {
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(1)
	case reflect.String:
		v.SetString("x")
	case reflect.Slice:
		v.Set(reflect.MakeSlice(of, 1, 1))
	case reflect.Pointer:
		v.Set(reflect.New(of.Elem()))
	case reflect.Func:
		v.Set(reflect.MakeFunc(of, func([]reflect.Value) []reflect.Value { panic("never called") }))
	case reflect.Struct:
		for i := range of.NumField() {
			if of.Field(i).IsExported() {
				v.Field(i).Set(anything(t, of.Field(i).Type))
				return v
			}
		}
	default:
		require.Fail(t, "unknown kind", "%v", of)
	}
	return v
}

func TestTemplateMaySetWhatIsAllowedAndNothingElse(t *testing.T) {
	require.NoError(t, checkTemplate(rueidis.ClientOption{}))
	of := reflect.TypeFor[rueidis.ClientOption]()
	allowed := 0
	for i := range of.NumField() {
		field := of.Field(i).Name
		var option rueidis.ClientOption
		target := reflect.ValueOf(&option).Elem().Field(i)
		if field == "Dialer" {
			option.Dialer.LocalAddr = &net.TCPAddr{}
		} else {
			target.Set(anything(t, target.Type()))
		}
		require.False(t, target.IsZero())
		err := checkTemplate(option)
		if slices.Contains(allowedInTemplate, field) {
			allowed++
			require.NoError(t, err, field)
			continue
		}
		require.ErrorIs(t, err, ErrInvalid, field)
		require.ErrorContains(t, err, "Client."+field+" ")
		_, err = New(t.Context(), Config{Masters: []string{"127.0.0.1:1"}, Client: option})
		require.ErrorContains(t, err, "Client."+field+" ")
	}
	require.Equal(t, len(allowedInTemplate), allowed, "every allowed name is a field")
}

func TestTemplatesDialerMaySetWhatIsAllowedAndNothingElse(t *testing.T) {
	for name, dialer := range map[string]net.Dialer{
		"Timeout": {Timeout: 1}, "KeepAlive": {KeepAlive: -1}, "Deadline": {Deadline: time.Now().Add(time.Hour)},
		"Cancel": {Cancel: make(chan struct{})}, "LocalAddr": {LocalAddr: &net.TCPAddr{Port: 1}},
	} {
		err := checkTemplate(rueidis.ClientOption{Dialer: dialer})
		require.ErrorIs(t, err, ErrInvalid, name)
		require.ErrorContains(t, err, "Client.Dialer."+name+" ")
	}
	allowed := net.Dialer{
		LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)}, FallbackDelay: 1, KeepAliveConfig: net.KeepAliveConfig{Enable: true},
		Resolver: &net.Resolver{}, Control: func(string, string, syscall.RawConn) error { return nil },
		ControlContext: func(context.Context, string, string, syscall.RawConn) error { return nil },
	}
	allowed.SetMultipathTCP(false)
	require.NoError(t, checkTemplate(rueidis.ClientOption{Dialer: allowed}))
	of := reflect.TypeFor[net.Dialer]()
	for _, name := range allowedInDialer {
		_, ok := of.FieldByName(name)
		require.True(t, ok, "%s is a field", name)
	}
}

func TestMastersAreAddressesOrURLs(t *testing.T) {
	template := rueidis.ClientOption{Username: "tu", Password: "tp", SelectDB: 1, ClientName: "tn"}
	for _, c := range []struct {
		address, at, user, password string
		db                          int
		name                        string
		tls                         bool
	}{
		{"a:1", "a:1", "tu", "tp", 1, "tn", false},
		{"[::1]:6379", "[::1]:6379", "tu", "tp", 1, "tn", false},
		{"redis://a", "a:6379", "tu", "tp", 1, "tn", false},
		{"redis://a:7", "a:7", "tu", "tp", 1, "tn", false},
		{"redis://[::1]:7/2", "[::1]:7", "tu", "tp", 2, "tn", false},
		{"redis://u:p@a:7/3", "a:7", "u", "p", 3, "tn", false},
		{"redis://:p%40%3A@a:7", "a:7", "", "p@:", 1, "tn", false},
		{"redis://u@a:7", "a:7", "u", "tp", 1, "tn", false},
		{"redis://u:@a:7", "a:7", "u", "", 1, "tn", false},
		{"redis://u:p@a:7?db=4&client_name=n", "a:7", "u", "p", 4, "n", false},
		{"redis://a:7/0", "a:7", "tu", "tp", 0, "tn", false},
		{"rediss://u:p@a:7", "a:7", "u", "p", 1, "tn", true},
		{"rediss://a:7?skip_verify=true", "a:7", "tu", "tp", 1, "tn", true},
		{"unix:///run/r.sock", "/run/r.sock", "tu", "tp", 1, "tn", false},
		{"unix://u:p@/run/r.sock?db=5", "/run/r.sock", "u", "p", 5, "tn", false},
	} {
		t.Run(c.address, func(t *testing.T) {
			masters, err := parseMasters([]string{c.address}, template)
			require.NoError(t, err)
			m := masters[0]
			require.Equal(t, c.at, m.Address, "without credentials")
			require.Equal(t, []string{c.at}, m.Option.InitAddress)
			require.Equal(t, c.user, m.Option.Username)
			require.Equal(t, c.password, m.Option.Password)
			require.Equal(t, c.db, m.Option.SelectDB)
			require.Equal(t, c.name, m.Option.ClientName)
			require.Equal(t, c.tls, m.Option.TLSConfig != nil)
		})
	}
}

func TestURLCredentialsOverrideAuthCredentialsFn(t *testing.T) {
	template := rueidis.ClientOption{AuthCredentialsFn: func(rueidis.AuthCredentialsContext) (rueidis.AuthCredentials, error) {
		return rueidis.AuthCredentials{}, nil
	}}
	masters, err := parseMasters([]string{"redis://u:p@a:1", "b:1"}, template)
	require.NoError(t, err)
	require.Nil(t, masters[0].Option.AuthCredentialsFn)
	require.NotNil(t, masters[1].Option.AuthCredentialsFn)
}

func TestTLSOfTheTemplateIsKeptAndCompletedByTheURL(t *testing.T) {
	roots := x509.NewCertPool()
	template := rueidis.ClientOption{TLSConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS13}}
	masters, err := parseMasters([]string{"rediss://a:1", "rediss://b:1?skip_verify=true", "c:1"}, template)
	require.NoError(t, err)
	for i, m := range masters {
		require.Same(t, roots, m.Option.TLSConfig.RootCAs)
		require.Equal(t, uint16(tls.VersionTLS13), m.Option.TLSConfig.MinVersion)
		require.Equal(t, []string{"a", "b", ""}[i], m.Option.TLSConfig.ServerName)
		require.Equal(t, i == 1, m.Option.TLSConfig.InsecureSkipVerify)
	}
	require.Empty(t, template.TLSConfig.ServerName, "the template stays as it is")
}

func TestURLSwitchesTheCheckOfCertificatesOnAndOff(t *testing.T) {
	template := rueidis.ClientOption{TLSConfig: &tls.Config{InsecureSkipVerify: true}}
	masters, err := parseMasters([]string{"rediss://a", "rediss://b?skip_verify=true", "rediss://c?skip_verify=false"}, template)
	require.NoError(t, err)
	for i, m := range masters {
		require.Equal(t, i < 2, m.Option.TLSConfig.InsecureSkipVerify, m.Address)
	}
}

func TestBadAddressesAreRefusedAndNeverRepeatAPassword(t *testing.T) {
	for _, address := range []string{
		"", " ", "a", ":1", "a:", "a:0", "a:65536", "a:-1", "a:x", "a:1:2", "::1", "[::1]", "a:1 ", "a:1,b:1", "a:1/0",
		"http://u:s3cret@a:1", "://u:s3cret@a:1", "redis//u:s3cret@a:1", "redis:/u:s3cret@a:1",
		"u:s3cret@a:1", ":s3cret@a:1", "s3cret@a:1",
		"redis://u:s3cret@a:1/x", "redis://u:s3cret@a:1/1/2", "redis://u:s3cret@a:x", "redis://u:s3cret@a:70000", "redis://u:s3cret@a:0",
		"redis://u:s3cret@a:1?addr=b:1", "redis://u:s3cret@a:1?dial_timeout=1s", "redis://u:s3cret@a:1?master_set=x",
		"redis://u:s3cret@a:1?protocol=2", "redis://u:s3cret@a:1?skip_verify=true", "unix://u:s3cret@/x?skip_verify=false", "redis://u:s3cret@a:1?password=s3cret", "redis://u:s3cret%zz@a:1",
		"redis://u:s3cret\x00@a:1", "redis://u:s3cret@a:1?db=x", "redis://u:s3/cret@a:1", "redis://u:/s3cret@a:1", "redis://u/s3cret@a:1", "redis://u/1/s3cret@a:1", "unix://", "unix://u:s3cret@", "unix:",
		// not escaped, a password may look like a query, a fragment or a path
		"redis://u:12?s3cret@a:1", "redis://u:?s3cret@a:1", "redis://:?s3cret@a:1", "rediss://u:12?s3cret&x@a:1", "redis://u:12?db=s3cret@a:1",
		"redis://u:p?s3cret&x@a:1", "redis://u:12?s3cret", "redis://u:12#s3cret@a:1", "redis://u:#s3cret@a:1", "redis://:#s3cret@a:1",
		"unix://u:12?s3cret@/x", "unix://u:12#s3cret@/x", "unix://u:12/s3cret@/x",
	} {
		t.Run(address, func(t *testing.T) {
			_, err := New(t.Context(), Config{Masters: []string{"ok:1", address}})
			require.ErrorIs(t, err, ErrInvalid)
			require.ErrorContains(t, err, "Masters[1]")
			require.NotContains(t, err.Error(), "s3cret")
			require.NotContains(t, err.Error(), "cret@")
		})
	}
}

func TestOneServerTwiceIsRefusedByItsAddress(t *testing.T) {
	for _, second := range []string{"Example:6379", "redis://example", "redis://u:s3cret@example:6379/3", "rediss://EXAMPLE"} {
		_, err := parseMasters([]string{"x:1", "example:6379", second}, rueidis.ClientOption{})
		require.ErrorIs(t, err, ErrInvalid, second)
		require.ErrorContains(t, err, "Masters[2]")
		require.ErrorContains(t, err, "Masters[1]")
		require.NotContains(t, err.Error(), "s3cret")
	}
	_, err := parseMasters([]string{"unix:///tmp/A.sock", "unix:///tmp/a.sock"}, rueidis.ClientOption{})
	require.NoError(t, err, "paths are case-sensitive")
}

func TestUnixSocketIsDialledAsOne(t *testing.T) {
	path := t.TempDir() + "/s"
	l, err := net.Listen("unix", path)
	require.NoError(t, err)
	defer l.Close()
	masters, err := parseMasters([]string{"unix://" + path}, rueidis.ClientOption{})
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	option := masters[0].Option
	conn, err := option.DialCtxFn(ctx, option.InitAddress[0], &net.Dialer{}, nil)
	require.NoError(t, err)
	require.NoError(t, conn.Close())
}
