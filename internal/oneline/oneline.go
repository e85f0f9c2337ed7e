// Package oneline joins errors into one line of text. Those of errors.Join have a line feed
// in between, which tears log lines and tables.
package oneline

import "strings"

// Join returns an error that matches each of errs for errors.Is and errors.As. Its text is
// theirs with "; " in between. Of errs that are nil nothing is left: a single other one is
// returned as it is, and nil if all are.
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
	return j
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

// Text returns the text of an error, also one that errors.Join made, on one line.
func Text(err error) string { return strings.ReplaceAll(err.Error(), "\n", "; ") }
