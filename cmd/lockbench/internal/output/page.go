package output

import (
	"bytes"
	"errors"
)

// The document stands between these in a page. No text within can end it: there JSON
// has no < at all.
const (
	dataBegin = `<script type="application/json" id="lockbench-result">`
	dataEnd   = `</script>`
)

// unwrap takes the document out of a page that package report has made; any other text
// comes back as it is. The error is that of another page, to be read after its name.
func unwrap(text []byte) ([]byte, error) {
	if !bytes.HasPrefix(bytes.TrimSpace(text), []byte("<")) {
		return text, nil
	}
	_, rest, found := bytes.Cut(text, []byte(dataBegin))
	if !found {
		return nil, errors.New("is not JSON but a page, and no report of lockbench")
	}
	data, _, found := bytes.Cut(rest, []byte(dataEnd))
	if !found {
		return nil, errors.New("is a report that is cut off")
	}
	return data, nil
}
