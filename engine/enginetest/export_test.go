package enginetest

// Keys returns every key of every master; one that k masters hold is there k times.
func (e *Engine) Keys() (keys []string) {
	for _, m := range e.masters {
		keys = append(keys, m.Keys()...)
	}
	return keys
}
