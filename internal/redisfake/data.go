package redisfake

import (
	"errors"
	"time"
)

// A dataSet is the keys of a master. The server's mutex guards it.
type dataSet struct {
	values  map[string]value
	changed func(key string) // called when a key is set, deleted, expired or given another expiry
}

type value struct {
	text string
	hash map[string]string // nil: a string
	ends int64             // in Unix milliseconds, of which it lives through the last; 0: it does not expire
}

var errWrongType = errors.New("WRONGTYPE Operation against a key holding the wrong kind of value")

// find returns the value of a key. As on a server, one that has expired goes when it is looked at.
func (d *dataSet) find(key string) (v value, there bool) {
	v, there = d.values[key]
	if there && v.ends != 0 && time.Now().UnixMilli() > v.ends {
		d.delete(key)
		return value{}, false
	}
	return v, there
}

func (d *dataSet) get(key string) (text string, there bool, err error) {
	v, there := d.find(key)
	if v.hash != nil {
		return "", true, errWrongType
	}
	return v.text, there, nil
}

// is reports whether the key is a string with that value, as MGET and a comparison do.
func (d *dataSet) is(key, text string) bool {
	is, there, err := d.get(key)
	return there && err == nil && is == text
}

// set is SET; ms is the time to live, 0 for ever.
func (d *dataSet) set(key, text string, ms int64) {
	v := value{text: text}
	if ms > 0 {
		v.ends = time.Now().UnixMilli() + ms
	}
	d.values[key] = v
	d.changed(key)
}

// delete returns 1 if there was such a key.
func (d *dataSet) delete(key string) int {
	if _, there := d.values[key]; !there {
		return 0
	}
	delete(d.values, key)
	d.changed(key)
	return 1
}

// pttl is PTTL: the milliseconds that are left, -1 for ever, -2 there is no such key.
func (d *dataSet) pttl(key string) int64 {
	switch v, there := d.find(key); {
	case !there:
		return -2
	case v.ends == 0:
		return -1
	default:
		return v.ends - time.Now().UnixMilli()
	}
}

// pexpire is PEXPIRE of a key that is there.
func (d *dataSet) pexpire(key string, ms int64) {
	v := d.values[key]
	v.ends = time.Now().UnixMilli() + ms
	d.values[key] = v
	d.changed(key)
}

// hash returns the fields of a hash, none if there is no such key.
func (d *dataSet) hash(key string) (map[string]string, error) {
	v, there := d.find(key)
	if there && v.hash == nil {
		return nil, errWrongType
	}
	return v.hash, nil
}

// hset sets a field of a key that is a hash, or not there, and returns how many it has then.
func (d *dataSet) hset(key, field, text string) int {
	v, there := d.find(key)
	if !there {
		v.hash = make(map[string]string)
		d.values[key] = v
	}
	v.hash[field] = text
	d.changed(key)
	return len(v.hash)
}
