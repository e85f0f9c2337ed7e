package result

import (
	"encoding/json"
	"io"

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
	e := json.NewEncoder(w)
	for _, r := range doc.Results {
		if err := e.Encode(resultLine{"result", r}); err != nil {
			return err
		}
	}
	return e.Encode(endLine{"end", doc.SchemaVersion, doc.Tool, doc.Env, doc.Config, len(doc.Results), doc.Relative, doc.Sweep, doc.Capacity})
}

// Seconds is for bench.Config.Progress: it writes the lines that come while runs are under
// way. The first error goes to failed and ends the writing.
func Seconds(w io.Writer, failed func(error)) func(bench.Progress) {
	e := json.NewEncoder(w)
	var err error
	return func(p bench.Progress) {
		if p.Warmup || p.Point.TS == 0 || p.Result != nil || err != nil {
			return
		}
		if err = e.Encode(secondLine{"second", p.Impl, p.Round, p.Setting, p.Point}); err != nil {
			failed(err)
		}
	}
}
