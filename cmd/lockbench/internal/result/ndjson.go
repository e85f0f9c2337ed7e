package result

import (
	"bytes"
	"encoding/json"
	"io"
	"sync"

	"muxlock/bench"
)

// The lines of -o ndjson, told apart by type. First a second for each about one
// second of measured time, as it passes; what is missed when the reader is slow is in
// the series of its result. Then, when all runs are over, a result for each run, as
// in a Document. The last line is end, with the rest of a Document: where it is
// missing, the text is cut off.
type (
	secondLine struct {
		Type    string            `json:"type"`
		Impl    string            `json:"impl"`
		Round   int               `json:"round"`
		Setting map[string]string `json:"setting,omitempty"`
		bench.Point
	}
	resultLine struct {
		Type string `json:"type"`
		*bench.Result
	}
	endLine struct {
		Type          string           `json:"type"`
		SchemaVersion int              `json:"schema_version"`
		Tool          bench.Tool       `json:"tool"`
		Env           bench.Env        `json:"env"`
		Config        Config           `json:"config"`
		Results       int              `json:"results"` // how many lines of them
		Relative      []bench.Relative `json:"relative"`
		Sweep         *bench.Sweep     `json:"sweep,omitempty"`
		Capacity      []bench.Capacity `json:"capacity,omitempty"`
	}
)

// NDJSON writes the lines that are known when the runs are over.
func NDJSON(w io.Writer, doc Document) error {
	var b bytes.Buffer // so that only the last write can fail
	e := json.NewEncoder(&b)
	for _, r := range doc.Results {
		if err := e.Encode(resultLine{"result", r}); err != nil {
			return err
		}
	}
	err := e.Encode(endLine{"end", doc.SchemaVersion, doc.Tool, doc.Env, doc.Config, len(doc.Results), doc.Relative, doc.Sweep, doc.Capacity})
	if err != nil {
		return err
	}
	_, err = w.Write(b.Bytes())
	return err
}

// Seconds writes the lines that come while runs are under way.
type Seconds struct {
	enc    *json.Encoder
	failed func(error)

	mu  sync.Mutex // guards the following
	err error
}

// NewSeconds writes to w. The first error goes to failed and ends the writing.
func NewSeconds(w io.Writer, failed func(error)) *Seconds {
	return &Seconds{enc: json.NewEncoder(w), failed: failed}
}

// Show is for bench.Config.Progress.
func (s *Seconds) Show(p bench.Progress) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p.Warmup || p.Point.TS == 0 || p.Result != nil || s.err != nil {
		return
	}
	if s.err = s.enc.Encode(secondLine{"second", p.Impl, p.Round, p.Setting, p.Point}); s.err != nil {
		s.failed(s.err)
	}
}
