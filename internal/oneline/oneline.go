// Package oneline joins errors into one line of text. errors.Join puts a line feed between them, which breaks log lines
// and tables.
package oneline

import "strings"

// Join returns an error that matches each of errs for errors.Is and errors.As. "; " separates their texts. Join drops nil
// errors; it returns a single error unchanged, and nil if none is left.
func Join(errs ...error) error {
	var j joined
	for _, err := range errs {
		if err != nil {
			j = append(j, err)
		}
	}
	switch len(j) {
	case 0:
		return nil
	case 1:
		return j[0]
	}
	return &j // can be compared
}

type joined []error

func (j joined) Error() string {
	texts := make([]string, len(j))
	for i, err := range j {
		texts[i] = Text(err)
	}
	return strings.Join(texts, "; ")
}

func (j joined) Unwrap() []error { return j }

// Text returns an error's text on one line, even if errors.Join made the error.
func Text(err error) string { return strings.ReplaceAll(err.Error(), "\n", "; ") }
